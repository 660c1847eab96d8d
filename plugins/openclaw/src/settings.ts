import { type Infer, t } from '@svc/plugin-sdk'

const address = (variable: string, schemes: string, description: string) =>
  t.optional(t.string({ pattern: `^(?:${schemes})://[^\\s/?#]`, 'x-env': variable, description }))

const milliseconds = (value: number, description: string) =>
  t.integer({ default: value, minimum: 1, maximum: 3_600_000, description })

export const settings = t.object({
  url: address(
    'SVC_EXTGW_URL',
    'https?',
    'Base URL of the gateway. Default: from its well-known document, else http://127.0.0.1:3000.'
  ),
  ws_url: address(
    'SVC_EXTGW_WS_URL',
    'wss?',
    'URL of its control plane. Default: from the document, else ws://127.0.0.1:18789.'
  ),
  token: t.optional(
    t.secret({
      minLength: 1,
      'x-env': 'SVC_EXTGW_TOKEN',
      description: 'Token for the gateway, sent as bearer token of requests and in the first frame of the websocket.'
    })
  ),
  well_known_url: address(
    'SVC_EXTGW_WELL_KNOWN_URL',
    'https?',
    'URL of the well-known document with all addresses. Default: /.well-known/openclaw.json below url.'
  ),
  catalog_list_url: address(
    'SVC_EXTGW_CATALOG_LIST_URL',
    'https?',
    'URL of the skill list. Default: from the document, else /v1/skills of the gateway.'
  ),
  catalog_search_url: address(
    'SVC_EXTGW_CATALOG_SEARCH_URL',
    'https?',
    'URL of the skill search. Default: from the document, else /v1/skills/search of the gateway.'
  ),
  discovery_timeout_ms: milliseconds(8_000, 'Timeout for the document in milliseconds.'),
  request_timeout_ms: milliseconds(60_000, 'Timeout for requests and connections in milliseconds.'),
  challenge_timeout_ms: milliseconds(750, 'Maximum wait for a challenge in milliseconds. Not every gateway sends one.')
})

export type Settings = Infer<typeof settings>
