import { type Infer, t } from '@svc/plugin-sdk'

export const settings = t.object({
  path: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_SECRETS_VAULT_PATH',
      description: 'File of the vault, relative to the project. Wins over url.'
    })
  ),
  url: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_SECRETS_VAULT_URL',
      description: 'URL of the vault: file:, libsql:, https: or http:. Default: file:.vox/clavis_vault.db.'
    })
  ),
  token: t.optional(
    t.secret({ minLength: 1, 'x-env': 'SVC_SECRETS_VAULT_TOKEN', description: 'Token of a remote vault.' })
  ),
  default_path: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_SECRETS_CLOUDLESS_DB_PATH',
      description: 'File of the vault if neither path nor url nor a legacy URL is set.'
    })
  ),
  prefer: t.boolean({
    default: false,
    'x-env': 'SVC_SECRETS_AUTO_PREFER_VAULT',
    'x-env-type': 'truthy',
    description: 'Whether the backend auto is the vault before any other.'
  }),
  hint: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_SECRETS_AUTO_VAULT',
      description: 'Any value selects the vault for the backend auto.'
    })
  ),
  account: t.optional(
    t.string({
      minLength: 1,
      maxLength: 256,
      pattern: '^[^\\u0000-\\u001f\\u007f]+$',
      description: 'Account whose secrets are used. Default: SVC_ACCOUNT_ID, else default-account.'
    })
  ),
  kek_ref: t.string({
    default: 'local-master',
    minLength: 1,
    maxLength: 128,
    pattern: '^[^\\u0000-\\u001f\\u007f]+$',
    'x-env': 'SVC_SECRETS_KEK_REF',
    description: 'Name of the key that encrypts data keys.'
  }),
  kek_version: t.integer({
    default: 1,
    minimum: 1,
    maximum: 2_147_483_647,
    'x-env': 'SVC_SECRETS_KEK_VERSION',
    description: 'Version of that key. After a change, svc secrets rewrap encrypts the data keys again.'
  }),
  history: t.integer({
    default: 10,
    minimum: 1,
    maximum: 1_000,
    'x-env': 'SVC_SECRETS_VERSION_HISTORY_DEPTH',
    description: 'Versions kept of each secret.'
  }),
  audit_log: t.boolean({
    default: false,
    'x-env': 'SVC_SECRETS_AUDIT_LOG',
    'x-env-type': 'truthy',
    description: 'Whether reads and writes are recorded in the profiles dev and ci, too. Always in prod and hard_cut.'
  }),
  retention_days: t.integer({
    default: 365,
    minimum: 1,
    maximum: 36_500,
    description: 'Days after which rows of the audit log and ended delegations are removed.'
  }),
  retention_rows: t.integer({
    default: 100_000,
    minimum: 100,
    maximum: 10_000_000,
    description: 'Maximum rows of the audit log, and maximum ended delegations, of an account. The oldest are removed.'
  }),
  timeout_ms: t.integer({
    default: 10_000,
    minimum: 10,
    maximum: 600_000,
    description: 'Time limit for a remote response, or for the lock of another process, in milliseconds.'
  })
})

export type Settings = Infer<typeof settings>
