import { MODEL_SERVER_APIS } from '@svc/contracts'
import { type Infer, t } from '@svc/plugin-sdk'

const server = t.object({
  name: t.optional(
    t.string({
      minLength: 1,
      maxLength: 128,
      description: 'Name in the header x-svc-server and in the console; default: host and port of the url.'
    })
  ),
  url: t.string({ minLength: 1, description: 'Base URL of the server, such as http://gpu1:11434.' }),
  api: t.enum(MODEL_SERVER_APIS, {
    description: 'Kind of server: svc, ollama, vllm, llama.cpp, or openai for any other with the OpenAI API.'
  }),
  slots: t.optional(
    t.integer({
      minimum: 1,
      maximum: 100_000,
      description: 'Requests that the server runs concurrently; default: as the server reports it, else by its kind.'
    })
  ),
  weight: t.number({
    default: 1,
    minimum: 0,
    maximum: 1_000,
    description: 'Capacity relative to the other servers; 0 sends no new requests.'
  }),
  api_key: t.optional(
    t.secret({ minLength: 1, pattern: '^\\S+$', description: 'Bearer token that the server requires.' })
  )
})

export const settings = t.object(
  {
    servers: t.array(server, { default: [], 'x-reload': 'live', description: 'Model servers.' }),
    host: t.string({ default: '127.0.0.1', minLength: 1, description: 'Address to listen on.' }),
    port: t.integer({
      default: 11_436,
      minimum: 0,
      maximum: 65_535,
      description: 'Port to listen on; 0 for a free port.'
    }),
    api_key: t.optional(
      t.secret({
        minLength: 1,
        pattern: '^\\S+$',
        description: 'Bearer token that clients of the router must send; default: no token.'
      })
    ),
    probe_interval_ms: t.integer({
      default: 2_000,
      minimum: 50,
      maximum: 60_000,
      description:
        'Milliseconds between two questions to a server for its models and load. After five times as long without an answer, the server is used only if no other has the model.'
    }),
    connect_timeout_ms: t.integer({
      default: 2_000,
      minimum: 10,
      maximum: 60_000,
      'x-reload': 'live',
      description: 'Milliseconds to connect to a server before another one is tried.'
    }),
    idle_timeout_seconds: t.number({
      default: 600,
      exclusiveMinimum: 0,
      maximum: 86_400,
      'x-reload': 'live',
      description: 'Seconds for which a server may send nothing before its answer is aborted.'
    }),
    stall_seconds: t.number({
      default: 60,
      exclusiveMinimum: 0,
      maximum: 86_400,
      'x-reload': 'live',
      description: 'Seconds for which a client may stop reading before its answer is aborted.'
    }),
    max_body_bytes: t.integer({
      default: 8_388_608,
      minimum: 1_024,
      maximum: 67_108_864,
      'x-reload': 'live',
      description: 'Maximum size of a request body in bytes; larger bodies get 413.'
    }),
    max_in_flight: t.integer({
      default: 1_024,
      minimum: 1,
      maximum: 100_000,
      'x-reload': 'live',
      description: 'Maximum requests in flight; further ones get 503.'
    })
  },
  { 'x-section': 'inference_router' }
)

export type Settings = Infer<typeof settings>
