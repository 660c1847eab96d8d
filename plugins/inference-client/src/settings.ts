import { NO_MODEL } from '@svc/contracts'
import { type Infer, t } from '@svc/plugin-sdk'

const address = (description: string, variable: string) =>
  t.optional(t.string({ minLength: 1, description, 'x-env': variable }))

export const settings = t.object({
  url: address('Base URL of the model server.', 'INFER_URL'),
  alternate_url: address('Base URL if url is not set.', 'ALT_INFER_URL'),
  alternate_host: address('URL, or HOST:PORT, if neither url nor alternate_url is set.', 'ALT_INFER_HOST'),
  api: t.enum(['auto', 'ollama', 'openai'], {
    default: 'auto',
    description: 'Format of the server. auto detects it: GET /api/tags first, then GET /v1/models.'
  }),
  model: t.string({
    default: NO_MODEL,
    minLength: 1,
    'x-env': 'INFER_MODEL',
    'x-reload': 'live',
    description: 'Model of requests that name none. The server must offer it.'
  }),
  api_key: t.optional(
    t.secret({ minLength: 1, 'x-env': 'INFER_API_KEY', description: 'Bearer token that is sent to the server.' })
  ),
  temperature: t.number({
    default: 0.7,
    minimum: 0,
    maximum: 2,
    'x-env': 'INFER_TEMPERATURE',
    'x-reload': 'live',
    description: 'Temperature of requests that set none; 0 always selects the most probable token.'
  }),
  max_tokens: t.integer({
    default: 2048,
    minimum: 1,
    'x-env': 'INFER_MAX_TOKENS',
    'x-reload': 'live',
    description: 'Maximum generated tokens of requests that set none.'
  }),
  probe_timeout_ms: t.integer({
    default: 5_000,
    minimum: 10,
    'x-reload': 'live',
    description: 'Time limit for the model list of a server, in milliseconds.'
  })
})

export type Settings = Infer<typeof settings>
