import { type Infer, t } from '@svc/plugin-sdk'

const text = (description: string, variable: string) =>
  t.optional(t.string({ minLength: 1, description, 'x-env': variable }))
const token = (description: string, variable: string) =>
  t.optional(t.secret({ minLength: 1, description, 'x-env': variable }))

export const settings = t.object({
  url: text(
    'URL of a remote database: libsql:, https:, http:, or their synonyms wss: and ws:. file: selects a local file.',
    'SVC_DB_URL'
  ),
  token: token('Token of the remote database; url and token must be set together.', 'SVC_DB_TOKEN'),
  sql_url: t.optional(
    t.string({
      minLength: 1,
      deprecated: true,
      'x-env': 'SVC_SQL_URL',
      description: 'Deprecated: use url. Used only if url and token are not both set.'
    })
  ),
  sql_token: t.optional(
    t.secret({ minLength: 1, deprecated: true, 'x-env': 'SVC_SQL_TOKEN', description: 'Deprecated: use token.' })
  ),
  legacy_sql_url: t.optional(
    t.string({
      minLength: 1,
      deprecated: true,
      'x-env': 'LEGACY_SQL_URL',
      description: 'Deprecated: use url. Used only if none of the other names is set.'
    })
  ),
  legacy_sql_auth_token: t.optional(
    t.secret({
      minLength: 1,
      deprecated: true,
      'x-env': 'LEGACY_SQL_AUTH_TOKEN',
      description: 'Deprecated: use token.'
    })
  ),
  path: text(
    'File of the database, relative to the project. With url and token it contains a replica of the remote database.',
    'SVC_DB_PATH'
  ),
  mvcc: t.boolean({
    default: false,
    'x-env': 'SVC_DB_MVCC',
    'x-env-type': 'truthy',
    description:
      'Whether writers run concurrently. The engines libSQL and sql.js do not support it, so true is an error.'
  }),
  circuit_breaker: t.boolean({
    default: false,
    'x-env': 'SVC_DB_CIRCUIT_BREAKER',
    'x-env-type': 'truthy',
    description: 'Whether writes are rejected for 30 seconds after five consecutive failures of the database.'
  }),
  journey_store: t.enum(['project', 'canonical'], {
    default: 'project',
    'x-env': 'SVC_WORKSPACE_JOURNEY_STORE',
    description: "Database to use without url and path: the project's store.db, or vox.db in the user's data directory."
  }),
  journey_fallback_canonical: t.boolean({
    default: true,
    'x-env': 'SVC_WORKSPACE_JOURNEY_FALLBACK_CANONICAL',
    'x-env-type': 'truthy',
    description:
      "Whether the user's database is used if the project's cannot be written. A damaged one is never replaced."
  }),
  synchronous: t.enum(['normal', 'full'], {
    default: 'normal',
    description: 'How commits are synced to disk. Both survive a crash of the process; full also survives a power loss.'
  }),
  busy_timeout_ms: t.integer({
    default: 5_000,
    minimum: 0,
    maximum: 600_000,
    description: 'How long a write waits for the lock of another process, in milliseconds.'
  }),
  remote_timeout_ms: t.integer({
    default: 10_000,
    minimum: 10,
    maximum: 600_000,
    description: 'Time limit for a response of the remote database, in milliseconds.'
  })
})

export type Settings = Infer<typeof settings>
