import { type Infer, t } from '@svc/plugin-sdk'

export const settings = t.object({
  main: t.boolean({
    default: true,
    description: 'Whether the main listener is opened. It does not affect listeners of other plugins.'
  }),
  host: t.string({
    default: '127.0.0.1',
    minLength: 1,
    'x-env': 'SVC_DASH_HOST',
    description: 'Address that the main listener binds.'
  }),
  port: t.integer({
    default: 3847,
    minimum: 0,
    maximum: 65535,
    'x-env': 'SVC_DASH_PORT',
    description: 'Port that the main listener binds; 0 chooses a free one.'
  }),
  token: t.optional(
    t.secret({
      minLength: 1,
      description:
        'Bearer token that every request must carry, except to /health, /docs and the status of /ready. At least 22 random characters, or wrong tokens can lock out their address.'
    })
  ),
  local_access: t.enum(['open', 'token'], {
    default: 'open',
    'x-guards': true,
    description:
      'Who may call without a token if none is set: open for callers on this machine; token for no one, which needs token.'
  }),
  allowed_hosts: t.array(t.string({ minLength: 1 }), {
    default: [],
    'x-guards': true,
    description:
      'Host names that requests may name, in addition to loopback names. Beyond loopback an empty list accepts all.'
  }),
  cors_origins: t.array(t.string({ pattern: '^(\\*|https?://[^/\\s?#@]+)$' }), {
    default: [],
    description:
      'Origins whose pages may call, such as https://example.org; * for all. Empty: only pages of this server.'
  }),
  body_limit_bytes: t.integer({
    default: 1_048_576,
    minimum: 1,
    maximum: 1_073_741_824,
    description: 'Maximum size of a request body in bytes; raw routes may set another limit.'
  }),
  request_timeout_ms: t.integer({
    default: 60_000,
    minimum: 100,
    description: 'Time limit for the headers and body of a request. Responses have no limit.'
  }),
  keep_alive_ms: t.integer({
    default: 75_000,
    minimum: 0,
    description: 'How long an idle connection stays open.'
  }),
  heartbeat_ms: t.integer({
    default: 15_000,
    minimum: 10,
    description: 'Interval between comments on an idle event stream, so that proxies keep it open.'
  }),
  access_log: t.enum(['errors', 'all', 'off'], {
    default: 'errors',
    description: 'Requests that are logged: failed and slow ones, all, or none.'
  }),
  slow_ms: t.integer({
    default: 1_000,
    minimum: 0,
    description: 'Milliseconds from which a request counts as slow in the access log.'
  }),
  ready_requires_plugins: t.boolean({
    default: false,
    description: 'Whether /ready returns 503 while a plugin that should run is invalid or has failed.'
  }),
  drain_ms: t.integer({
    default: 4_000,
    minimum: 0,
    description: 'Time limit for requests in flight after a listener has stopped accepting.'
  })
})

export type Settings = Infer<typeof settings>
