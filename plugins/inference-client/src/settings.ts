import { type Infer, t } from '@svc/plugin-sdk'

const address = (description: string, variable: string) =>
  t.optional(t.string({ minLength: 1, description, 'x-env': variable }))

/** Placeholder for "no model chosen". */
export const NO_MODEL = 'default-model'

export const settings = t.object({
  url: address('Base URL of the model server.', 'INFER_URL'),
  alternate_url: address('Base URL where url names none.', 'ALT_INFER_URL'),
  alternate_host: address('URL, or HOST:PORT, where neither url nor alternate_url names a server.', 'ALT_INFER_HOST'),
  api: t.enum(['auto', 'ollama', 'openai'], {
    default: 'auto',
    description: 'Format that the server speaks. auto asks it: GET /api/tags first, then GET /v1/models.'
  }),
  model: t.string({
    default: NO_MODEL,
    minLength: 1,
    'x-env': 'INFER_MODEL',
    'x-reload': 'live',
    description: 'Model that is asked when a request names none. It must be one that the server lists.'
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
    description: 'Temperature when a request names none; 0 always takes the most probable token.'
  }),
  max_tokens: t.integer({
    default: 2048,
    minimum: 1,
    'x-env': 'INFER_MAX_TOKENS',
    'x-reload': 'live',
    description: 'Tokens generated at most when a request names no number.'
  }),
  probe_timeout_ms: t.integer({
    default: 5_000,
    minimum: 10,
    'x-reload': 'live',
    description: 'Milliseconds that a server has to say which models it offers.'
  })
})

export type Settings = Infer<typeof settings>
