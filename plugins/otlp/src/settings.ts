import { type Infer, t } from '@svc/plugin-sdk'

export const settings = t.object({
  endpoint: t.string({
    default: 'http://127.0.0.1:4318',
    pattern: '^https?://',
    'x-env': 'OTEL_EXPORTER_OTLP_ENDPOINT',
    description: 'URL of the collector; traces go to /v1/traces below it.'
  }),
  traces_endpoint: t.optional(
    t.string({
      pattern: '^https?://',
      'x-env': 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
      description: 'Complete URL for traces, used instead of endpoint.'
    })
  ),
  headers: t.optional(
    t.secret({
      'x-env': 'OTEL_EXPORTER_OTLP_HEADERS',
      description: 'Headers of each request, such as api-key=KEY,tenant=A. Values are percent-encoded.'
    })
  ),
  traces_headers: t.optional(
    t.secret({
      'x-env': 'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
      description: 'Headers that are used instead of headers.'
    })
  ),
  resource_attributes: t.optional(
    t.string({
      'x-env': 'OTEL_RESOURCE_ATTRIBUTES',
      description: 'Attributes of this server, such as deployment.environment.name=test. Values are percent-encoded.'
    })
  ),
  timeout_ms: t.integer({
    default: 10_000,
    minimum: 1,
    maximum: 600_000,
    'x-env': 'OTEL_EXPORTER_OTLP_TIMEOUT',
    description: 'Milliseconds for one export, retries included.'
  }),
  compression: t.enum(['none', 'gzip'], {
    default: 'none',
    'x-env': 'OTEL_EXPORTER_OTLP_COMPRESSION',
    description: 'Compression of the requests.'
  }),
  service_name: t.string({
    default: 'svc',
    minLength: 1,
    'x-env': 'OTEL_SERVICE_NAME',
    description: 'Name of this server in the collector.'
  }),
  delay_ms: t.integer({
    default: 5_000,
    minimum: 10,
    maximum: 600_000,
    'x-env': 'OTEL_BSP_SCHEDULE_DELAY',
    description: 'Maximum time in milliseconds until a span is exported.'
  }),
  queue: t.integer({
    default: 2_048,
    minimum: 1,
    maximum: 1_000_000,
    'x-env': 'OTEL_BSP_MAX_QUEUE_SIZE',
    description: 'Maximum spans in the queue. Further ones are dropped and counted.'
  })
})

export type Settings = Infer<typeof settings>
