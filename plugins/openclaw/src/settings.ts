import { type Infer, t } from '@svc/plugin-sdk'

const address = (variable: string, schemes: string, description: string) =>
  t.optional(t.string({ pattern: `^(?:${schemes})://[^\\s/?#]`, 'x-env': variable, description }))

const milliseconds = (value: number, description: string) =>
  t.integer({ default: value, minimum: 1, maximum: 3_600_000, description })

export const settings = t.object({
  url: address(
    'SVC_EXTGW_URL',
    'https?',
    'Base URL of the gateway. Default: what its well-known document says, else http://127.0.0.1:3000.'
  ),
  ws_url: address(
    'SVC_EXTGW_WS_URL',
    'wss?',
    'URL of its control plane. Default: what the document says, else ws://127.0.0.1:18789.'
  ),
  token: t.optional(
    t.secret({
      minLength: 1,
      'x-env': 'SVC_EXTGW_TOKEN',
      description:
        'Token that is sent to the gateway: as a bearer with requests, and in the first frame of a connection.'
    })
  ),
  well_known_url: address(
    'SVC_EXTGW_WELL_KNOWN_URL',
    'https?',
    'Where the document is that says where everything is. Default: /.well-known/openclaw.json behind url.'
  ),
  catalog_list_url: address(
    'SVC_EXTGW_CATALOG_LIST_URL',
    'https?',
    'Where skills are listed. Default: what the document says, else /v1/skills of the gateway.'
  ),
  catalog_search_url: address(
    'SVC_EXTGW_CATALOG_SEARCH_URL',
    'https?',
    'Where skills are searched for. Default: what the document says, else /v1/skills/search of the gateway.'
  ),
  discovery_timeout_ms: milliseconds(8_000, 'Milliseconds that the document may take to arrive.'),
  request_timeout_ms: milliseconds(
    60_000,
    'Milliseconds that the gateway may take to answer a request, and to be connected with.'
  ),
  challenge_timeout_ms: milliseconds(
    750,
    'Milliseconds for which the challenge of a gateway is waited for, which not every gateway sends.'
  )
})

export type Settings = Infer<typeof settings>
