import { type Infer, t } from '@svc/plugin-sdk'

const secret = (variable: string | string[], description: string) =>
  t.optional(t.secret({ minLength: 1, pattern: '^\\S+$', 'x-env': variable, description }))

export const settings = t.object({
  address: t.string({
    default: 'https://app.infisical.com',
    pattern: '^https?://\\S+$',
    'x-env': 'INFISICAL_API_URL',
    description: 'URL of the server, without /api; https, except on this machine.'
  }),
  token: secret(
    ['INFISICAL_TOKEN', 'INFISICAL_SERVICE_TOKEN'],
    'Access token of a machine identity, or service token.'
  ),
  client_id: secret('INFISICAL_UNIVERSAL_AUTH_CLIENT_ID', 'Id of the login by Universal Auth, instead of a token.'),
  client_secret: secret('INFISICAL_UNIVERSAL_AUTH_CLIENT_SECRET', 'Secret of the login by Universal Auth.'),
  project_id: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_SECRETS_INFISICAL_PROJECT_ID',
      description: 'Id of the project. A service token needs none.'
    })
  ),
  environment: t.string({
    default: 'dev',
    minLength: 1,
    'x-env': 'SVC_SECRETS_INFISICAL_ENV',
    description: 'Slug of the environment.'
  }),
  path: t.string({ default: '/', pattern: '^/', description: 'Folder of the secrets.' }),
  cli: t.enum(['auto', 'always', 'never'], {
    default: 'auto',
    description: 'Use of the program infisical. auto: without a token, or if svc cannot connect to the server.'
  }),
  cli_path: t.optional(
    t.string({
      minLength: 1,
      maxLength: 4_096,
      pattern: '^(?:/|[A-Za-z]:[\\\\/])[^\\u0000]+$',
      description: 'Absolute path of the program. Default: infisical in the folders of PATH.'
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
