import { type Infer, t } from '@svc/plugin-sdk'

export const settings = t.object({
  recording: t.boolean({
    default: true,
    'x-env': 'SVC_TELEMETRY',
    'x-reload': 'live',
    description:
      'Main switch. If it is off, no benchmark results or traces are recorded, and nothing is queued or uploaded.'
  }),
  benchmarks: t.boolean({
    default: false,
    'x-env': 'SVC_BENCHMARK_TELEMETRY',
    'x-reload': 'live',
    description: 'Whether results of benchmarks are stored as rows of the type benchmark_event.'
  }),
  syntax_k: t.optional(
    t.boolean({
      'x-env': 'SVC_SYNTAX_K_TELEMETRY',
      'x-reload': 'live',
      description:
        'Whether results for fixtures of the language are stored as rows of the type syntax_k_event. Default: as benchmarks.'
    })
  ),
  upload_url: t.optional(
    t.string({
      pattern: '^https://[^\\s/?#@]+',
      maxLength: 2_048,
      'x-env': 'SVC_TELEMETRY_UPLOAD_URL',
      'x-reload': 'live',
      description: 'HTTPS URL that receives the upload queue, one POST for each payload.'
    })
  ),
  upload_token: t.optional(
    t.secret({
      minLength: 1,
      'x-env': 'SVC_TELEMETRY_UPLOAD_TOKEN',
      description: 'Bearer token for the upload.'
    })
  ),
  upload_timeout_ms: t.integer({
    default: 30_000,
    minimum: 10,
    maximum: 600_000,
    'x-reload': 'live',
    description: 'Time limit in milliseconds for one payload.'
  }),
  spool_dir: t.string({
    default: '.vox/telemetry-upload-queue',
    minLength: 1,
    'x-env': 'SVC_TELEMETRY_SPOOL_DIR',
    description: 'Folder of the upload queue, relative to the project. Payloads are files in its subfolder pending.'
  }),
  dogfood_trace_path: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_DOGFOOD_TRACE_PATH',
      description:
        'Where broadcasts between agents are written as JSON lines. A path that ends in .jsonl is the file; another one is the folder of a2a_traces.jsonl. Default: they are not written.'
    })
  )
})

export type Settings = Infer<typeof settings>
