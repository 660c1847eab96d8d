import { type Infer, t } from '@svc/plugin-sdk'

const path = (variable: string, file: string) =>
  t.optional(
    t.string({
      minLength: 1,
      'x-env': variable,
      description: `Older file that is imported once if it exists. Default: ${file}.`
    })
  )

/** Range of a body limit in bytes: 2 KiB to 8 MiB. */
const [MIN_BODY_BYTES, MAX_BODY_BYTES] = [2_048, 8_388_608]

export const settings = t.object({
  host: t.string({ default: '127.0.0.1', minLength: 1, description: 'Address that the control plane binds.' }),
  port: t.integer({
    default: 9847,
    minimum: 0,
    maximum: 65_535,
    description: 'Port that the control plane binds; 0 chooses a free one.'
  }),
  allowed_hosts: t.array(t.string({ minLength: 1 }), {
    default: [],
    'x-guards': true,
    description:
      'Host names that requests may name, in addition to addresses and loopback names. Beyond loopback, with tokens, an empty list accepts all.'
  }),
  trusted_proxies: t.array(t.string({ minLength: 1 }), {
    default: [],
    'x-guards': true,
    description: 'Addresses, or networks such as 10.0.0.0/8, of proxies whose X-Forwarded-For names the client.'
  }),
  jwt_hmac_secret: t.optional(
    t.secret({
      minLength: 1,
      'x-env': 'SVC_MESH_JWT_HMAC_SECRET',
      description: 'Secret of HS256 tokens; if set, they are accepted as bearers.'
    })
  ),
  worker_result_verify_key: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_MESH_WORKER_RESULT_VERIFY_KEY',
      description: 'Ed25519 public key of signed results: 64 hex digits, or base64 of 32 bytes.'
    })
  ),
  a2a_lease_ms: t.integer({
    default: 120_000,
    'x-env': 'SVC_MESH_A2A_LEASE_MS',
    description: 'Milliseconds of a message lease and of an exec lease; clamped to 1,000 to 3,600,000.'
  }),
  a2a_max_messages: t.integer({
    default: 50_000,
    'x-env': 'SVC_MESH_A2A_MAX_MESSAGES',
    description: 'Maximum messages of the scope; the oldest are dropped first. Clamped to 1 to 500,000.'
  }),
  http_rate_limit: t.boolean({
    default: false,
    'x-env': 'SVC_MESH_HTTP_RATE_LIMIT',
    'x-env-type': 'truthy',
    'x-guards': true,
    description: 'Whether requests are limited by client address, over all control planes on the same store.'
  }),
  http_rate_limit_per_sec: t.integer({
    default: 50,
    minimum: 1,
    maximum: 1_000_000,
    'x-env': 'SVC_MESH_HTTP_RATE_LIMIT_PER_SEC',
    description: 'Requests of a client per second.'
  }),
  http_rate_limit_burst: t.optional(
    t.integer({
      minimum: 1,
      maximum: 10_000_000,
      'x-env': 'SVC_MESH_HTTP_RATE_LIMIT_BURST',
      description: 'Requests of a client at once. Default: twice the requests per second.'
    })
  ),
  http_max_body_bytes: t.integer({
    default: 524_288,
    minimum: MIN_BODY_BYTES,
    maximum: MAX_BODY_BYTES,
    'x-env': 'SVC_MESH_HTTP_MAX_BODY_BYTES',
    description: 'Maximum bytes of a request body.'
  }),
  server_stale_prune_ms: t.integer({
    default: 0,
    minimum: 0,
    'x-env': 'SVC_MESH_SERVER_STALE_PRUNE_MS',
    description: 'Age in milliseconds above which the list leaves nodes out; 0: none.'
  }),
  bootstrap_token: t.optional(
    t.secret({
      minLength: 1,
      'x-env': 'SVC_MESH_BOOTSTRAP_TOKEN',
      description: 'One-time token that bootstrap/exchange accepts, in addition to those of svc mesh pair.'
    })
  ),
  bootstrap_expires_unix_ms: t.optional(
    t.integer({
      minimum: 0,
      'x-env': 'SVC_MESH_BOOTSTRAP_EXPIRES_UNIX_MS',
      description: 'Time in Unix milliseconds after which bootstrap_token is refused. Default: never.'
    })
  ),
  drain_ms: t.integer({
    default: 2_000,
    minimum: 0,
    maximum: 25_000,
    description: 'Milliseconds for which /ready answers 503 before the control plane closes its port.'
  }),
  registry_path: path('SVC_MESH_REGISTRY_PATH', '~/.svc/cache/mesh/local-registry.json'),
  a2a_store_path: path('SVC_MESH_A2A_STORE_PATH', 'a2a-store.json next to it'),
  exec_lease_store_path: path('SVC_MESH_EXEC_LEASE_STORE_PATH', 'exec-lease-store.json next to it'),
  replay_state_path: path('SVC_MESH_REPLAY_STATE_PATH', 'mesh-replay-state.json next to it')
})

export type Settings = Infer<typeof settings>
