import { type Infer, t } from '@svc/plugin-sdk'

const text = (description: string, variable: string) =>
  t.optional(t.string({ minLength: 1, description, 'x-env': variable }))
const token = (description: string, variable: string) =>
  t.optional(t.secret({ minLength: 1, description, 'x-env': variable }))

export const settings = t.object({
  url: text(
    'URL of a remote database: libsql:, https: or http:, and wss: or ws: as other words for the latter two; file: names a local file.',
    'SVC_DB_URL'
  ),
  token: token('Token of the remote database; one without the other is not enough.', 'SVC_DB_TOKEN'),
  sql_url: t.optional(
    t.string({
      minLength: 1,
      deprecated: true,
      'x-env': 'SVC_SQL_URL',
      description: 'Deprecated: use url. Read where url and token are not both set.'
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
      description: 'Deprecated: use url. Read last.'
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
    'File of the database, relative to the project. With url and token it holds a copy of the remote database.',
    'SVC_DB_PATH'
  ),
  mvcc: t.boolean({
    default: false,
    'x-env': 'SVC_DB_MVCC',
    'x-env-type': 'truthy',
    description: 'Whether writers need not wait for each other where an engine can do that; the present ones cannot.'
  }),
  circuit_breaker: t.boolean({
    default: false,
    'x-env': 'SVC_DB_CIRCUIT_BREAKER',
    'x-env-type': 'truthy',
    description: 'Whether writes are refused for half a minute after five failures of the database in a row.'
  }),
  journey_store: t.enum(['project', 'canonical'], {
    default: 'project',
    'x-env': 'SVC_WORKSPACE_JOURNEY_STORE',
    description:
      'Database where neither url nor path names one: store.db of the project, or vox.db in the data directory of the user.'
  }),
  journey_fallback_canonical: t.boolean({
    default: true,
    'x-env': 'SVC_WORKSPACE_JOURNEY_FALLBACK_CANONICAL',
    'x-env-type': 'truthy',
    description: "Whether the user's database is taken where the project's cannot be opened."
  }),
  synchronous: t.enum(['normal', 'full'], {
    default: 'normal',
    description:
      'When a commit of a local file reaches the disk. Both survive the end of the process; full also a loss of power.'
  }),
  busy_timeout_ms: t.integer({
    default: 5_000,
    minimum: 0,
    maximum: 600_000,
    description: 'Milliseconds that a lock of another process is waited for.'
  }),
  remote_timeout_ms: t.integer({
    default: 10_000,
    minimum: 10,
    maximum: 600_000,
    description: 'Milliseconds that a remote database has for one answer.'
  })
})

export type Settings = Infer<typeof settings>
