import { type Infer, t } from '@svc/plugin-sdk'

const word = (byDefault: string, description: string) =>
  t.string({ default: byDefault, minLength: 1, maxLength: 512, pattern: '^[^\\s?#]+$', description })
const secret = (variable: string, description: string) =>
  t.optional(t.secret({ minLength: 1, pattern: '^\\S+$', 'x-env': variable, description }))

export const settings = t.object({
  address: t.optional(
    t.string({
      pattern: '^https?://\\S+$',
      'x-env': 'VAULT_ADDR',
      description: 'URL of the server; https, except on this machine.'
    })
  ),
  token: secret('VAULT_TOKEN', 'Token. Default: that of the file .vault-token in the home folder.'),
  namespace: t.optional(
    t.string({ minLength: 1, pattern: '^\\S+$', 'x-env': 'VAULT_NAMESPACE', description: 'Namespace of all requests.' })
  ),
  mount: word('secret', 'Mount of the engine KV.'),
  kv_version: t.integer({ default: 2, minimum: 1, maximum: 2, description: 'Version of the engine KV at the mount.' }),
  path: word('svc', 'Path whose fields are the secrets. A name PATH#FIELD reads another path.'),
  role_id: secret('VAULT_ROLE_ID', 'Role of the login by AppRole, instead of a token.'),
  secret_id: secret('VAULT_SECRET_ID', 'Secret of the login by AppRole.'),
  approle_mount: word('approle', 'Mount of the login by AppRole.'),
  cli: t.enum(['auto', 'always', 'never'], {
    default: 'auto',
    description: 'Use of the program vault or bao. auto: without a token, or if svc cannot connect to the server.'
  }),
  cli_path: t.optional(
    t.string({
      minLength: 1,
      maxLength: 4_096,
      pattern: '^(?:/|[A-Za-z]:[\\\\/])[^\\u0000]+$',
      description: 'Absolute path of the program. Default: vault or bao in the folders of PATH.'
    })
  ),
  timeout_ms: t.integer({
    default: 5_000,
    minimum: 10,
    maximum: 600_000,
    description: 'Time limit of a request, or of a run of the program, in milliseconds.'
  })
})

export type Settings = Infer<typeof settings>
