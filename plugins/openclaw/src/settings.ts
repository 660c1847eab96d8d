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
  challenge_timeout_ms: milliseconds(750, 'Maximum wait for a challenge in milliseconds. Not every gateway sends one.'),
  sidecar_disabled: t.boolean({
    default: false,
    'x-env': 'SVC_EXTGW_SIDECAR_DISABLE',
    description: 'Whether the sidecar openclaw-gateway is neither installed by updates nor started.'
  }),
  sidecar_expected_version: t.optional(
    t.string({
      minLength: 1,
      maxLength: 200,
      'x-env': 'SVC_EXTGW_SIDECAR_EXPECT_VERSION',
      description: 'Text that the version of the sidecar contains. Only svc openclaw doctor compares it.'
    })
  ),
  sidecar_start_max_attempts: t.integer({
    default: 3,
    minimum: 1,
    maximum: 10,
    'x-env': 'SVC_EXTGW_SIDECAR_START_MAX_ATTEMPTS',
    description: 'Maximum connection probes after a start of the sidecar.'
  }),
  sidecar_start_backoff_ms: t.integer({
    default: 500,
    minimum: 100,
    maximum: 30_000,
    'x-env': 'SVC_EXTGW_SIDECAR_START_BACKOFF_MS',
    description: 'Delay before the first probe in milliseconds. Doubles for each further probe, up to 30 seconds.'
  }),
  container_runtime: t.optional(
    t.string({
      minLength: 1,
      description: 'Program that runs skills in containers. Default: docker, else podman, from PATH.'
    })
  ),
  shell_image: t.string({
    default: 'alpine:3',
    pattern: '^[A-Za-z0-9]',
    maxLength: 255,
    description: 'Image for skills of the kind shell; has sh. It is never downloaded: pull it first.'
  }),
  tool_image: t.string({
    default: 'node:20-alpine',
    pattern: '^[A-Za-z0-9]',
    maxLength: 255,
    description: 'Image for skills of the kind tool; has node. It is never downloaded: pull it first.'
  }),
  skill_timeout_ms: milliseconds(60_000, 'Time limit of a skill in milliseconds.')
})

export type Settings = Infer<typeof settings>
