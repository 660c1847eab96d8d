import { type Infer, t } from '@svc/plugin-sdk'

const flag = (variable: string, description: string, marks: { readonly 'x-guards'?: true } = {}) =>
  t.boolean({ default: false, 'x-env': variable, 'x-env-type': 'truthy', description, ...marks })

const token = (variable: string, description: string) =>
  t.optional(t.secret({ minLength: 1, pattern: '^\\S+$', 'x-env': variable, description }))

const names = (variable: string, description: string) =>
  t.optional(t.array(t.string({ minLength: 1 }), { 'x-env': variable, 'x-guards': true, description }))

export const settings = t.object({
  http_enabled: flag('SVC_MCP_HTTP_ENABLED', 'Whether the gateway listens.'),
  host: t.string({ default: '127.0.0.1', minLength: 1, 'x-env': 'SVC_MCP_HTTP_HOST', description: 'Address to bind.' }),
  port: t.integer({
    default: 3921,
    minimum: 0,
    maximum: 65_535,
    'x-env': 'SVC_MCP_HTTP_PORT',
    description: 'Port to listen on; 0 chooses a free one.'
  }),
  bearer_token: token('SVC_MCP_HTTP_BEARER_TOKEN', 'Token for all allowed tools.'),
  read_bearer_token: token(
    'SVC_MCP_HTTP_READ_BEARER_TOKEN',
    'Token for the read role: only allowed tools that the registry marks as eligible for it.'
  ),
  allow_unauthenticated: flag(
    'SVC_MCP_HTTP_ALLOW_UNAUTHENTICATED',
    'For local tests: start without a token, so that every caller may use all allowed tools. No effect if a token is set.'
  ),
  allowed_tools: names(
    'SVC_MCP_HTTP_ALLOWED_TOOLS',
    'Names or aliases of the offered tools. Default: the list in the README.'
  ),
  read_role_allowed_tools: names(
    'SVC_MCP_HTTP_READ_ROLE_ALLOWED_TOOLS',
    'Names or aliases to which the read role is further restricted.'
  ),
  rate_limit_per_minute: t.integer({
    default: 120,
    minimum: 1,
    maximum: 1_000_000,
    'x-env': 'SVC_MCP_HTTP_RATE_LIMIT_PER_MINUTE',
    description: 'Maximum requests and websocket messages of one client per minute; also the burst size.'
  }),
  require_forwarded_https: flag(
    'SVC_MCP_HTTP_REQUIRE_FORWARDED_HTTPS',
    'Reject requests without X-Forwarded-Proto: https, which a TLS proxy sets.',
    { 'x-guards': true }
  ),
  health_auth: flag('SVC_MCP_HTTP_HEALTH_AUTH', 'Whether /health requires a token as well.', { 'x-guards': true }),
  mobile_auth: t.boolean({
    default: true,
    'x-env': 'SVC_MCP_HTTP_MOBILE_AUTH',
    'x-guards': true,
    description:
      'Whether the page /v1/mobile and its files require a token as well. A browser sends none when it opens a page: set it to false to use the page. Its data requires a token in any case.'
  }),
  trust_x_forwarded_for: flag(
    'SVC_MCP_HTTP_TRUST_X_FORWARDED_FOR',
    'Identify clients by the first address in X-Forwarded-For. Safe only behind a proxy that sets the header itself.'
  ),
  allowed_origins: t.array(t.string({ minLength: 1 }), {
    default: [],
    description:
      'Origins of pages that may call, for example https://svc.example.org, in addition to those of this machine.'
  }),
  max_websockets: t.integer({
    default: 256,
    minimum: 1,
    description: 'Maximum open websockets; further handshakes get status 503.'
  })
})

export type Settings = Infer<typeof settings>
