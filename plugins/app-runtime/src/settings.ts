import { type Infer, t } from '@svc/plugin-sdk'
import type { Limits } from './interpreter/machine.ts'

const TOKEN_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA'
] as const

export const settings = t.object({
  program: t.optional(
    t.string({
      minLength: 1,
      description: 'Source file of the served program, relative to the project. Without it, no program is served.'
    })
  ),
  port: t.integer({
    default: 3000,
    minimum: 0,
    maximum: 65_535,
    'x-env': 'SVC_PORT',
    description: 'Port of the served program; 0 for any free port.'
  }),
  database: t.optional(
    t.string({
      minLength: 1,
      description:
        'Database of the program: memory for a temporary one, or a file relative to the project. Default: the primary database.'
    })
  ),
  auth: t.optional(
    t.object(
      {
        secret: t.array(t.secret({ minLength: 32 }), {
          default: [],
          description:
            'Secrets of tokens that programs accept, at least 32 random characters each: the first signs, all verify. Default: one that is made in .vox/auth-secret.'
        }),
        issuer: t.optional(t.string({ minLength: 1, description: 'Required issuer of tokens with an own secret.' })),
        audience: t.optional(
          t.string({ minLength: 1, description: 'Required audience of tokens with an own secret.' })
        ),
        issuers: t.array(
          t.object({
            issuer: t.string({ minLength: 1, description: 'Issuer, as in the claim iss.' }),
            audience: t.string({ minLength: 1, description: 'Required audience: the claim aud.' }),
            jwks: t.string({
              pattern: '^(https://|http://(localhost|127\\.0\\.0\\.1|\\[::1\\])[:/])',
              description: 'URL of the public keys.'
            }),
            algorithms: t.array(t.enum(TOKEN_ALGORITHMS), {
              default: ['RS256', 'ES256', 'EdDSA'],
              description: 'Accepted algorithms.'
            }),
            id_prefix: t.string({
              default: '',
              description:
                'Prefix of the ids of its users; empty: none, or the issuer and "|" if the program has a table of users.'
            }),
            roles_claim: t.string({
              default: 'roles',
              minLength: 1,
              description: 'Claim with the roles of a user; a dot enters an object, as in realm_access.roles.'
            })
          }),
          { default: [], description: 'Servers whose tokens prove identities, such as an OpenID provider.' }
        ),
        trusted_proxies: t.array(t.string({ minLength: 1 }), {
          default: [],
          description:
            'Addresses, or networks such as 10.0.0.0/8, of proxies whose X-Forwarded-For names the client, for limits by address and request.ip().'
        }),
        url: t.optional(
          t.string({
            pattern: '^https?://[^/?#]+/?$',
            description:
              'Address of the program in browsers, to which OpenID providers send them back. Default: as the request says.'
          })
        ),
        oauth: t.record(
          t.object({
            issuer: t.string({
              pattern: '^(https://|http://(localhost|127\\.0\\.0\\.1|\\[::1\\])[:/])',
              description: 'Address of the OpenID provider, below which it describes itself.'
            }),
            client_id: t.string({ minLength: 1, description: 'Id of the program at the provider.' }),
            client_secret: t.optional(t.secret({ description: 'Secret of the program at the provider.' })),
            scopes: t.string({
              default: 'openid email profile',
              description: 'Requested scopes, with spaces in between.'
            }),
            link_by_email: t.boolean({
              default: false,
              description:
                'Whether a first sign-in with the verified address of a user is one of that user, whose password and other identities are then removed.'
            })
          }),
          { default: {}, description: 'OpenID providers with which users sign in, by name: google, for example.' }
        ),
        webhooks: t.record(t.secret({ minLength: 16 }), {
          default: {},
          description: 'Secrets of webhooks, by the name that @webhook uses.'
        })
      },
      { description: 'Identities of callers of programs.' }
    )
  ),
  files: t.optional(
    t.object(
      {
        folder: t.string({
          default: '.vox/files',
          minLength: 1,
          description: 'Folder of stored files, relative to the project; with s3, only of files that arrive.'
        }),
        s3: t.optional(
          t.object(
            {
              endpoint: t.string({
                pattern: '^https?://[^/?#@]+/?$',
                description: 'Address of the server, such as https://s3.eu-central-1.amazonaws.com.'
              }),
              bucket: t.string({
                pattern: '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$',
                description: 'Name of the bucket, which exists.'
              }),
              region: t.string({ default: 'us-east-1', minLength: 1, description: 'Region of the bucket.' }),
              prefix: t.string({
                default: '',
                pattern: '^([A-Za-z0-9_-][A-Za-z0-9._/-]{0,199})?$',
                description: 'Path of the files in the bucket.'
              }),
              access_key: t.secret({ minLength: 1, description: 'Id of the access key.' }),
              secret_key: t.secret({ minLength: 1, description: 'Secret of the access key.' }),
              session_token: t.optional(t.secret({ minLength: 1, description: 'Token of a temporary access key.' })),
              path_style: t.boolean({
                default: true,
                description: 'Whether the bucket is a part of the path; otherwise it is a part of the host name.'
              })
            },
            { description: 'Bucket of a server with the protocol of Amazon S3, for the content of stored files.' }
          )
        ),
        max_bytes: t.integer({
          default: 52_428_800,
          minimum: 1,
          description: 'Maximum size of a stored file, in bytes.'
        }),
        types: t.array(t.string({ pattern: '^[a-z0-9.+-]+/([a-z0-9.+-]+|\\*)$' }), {
          default: [],
          description: 'Media types that clients may upload, such as image/png or image/*. Default: all.'
        })
      },
      { description: 'Files that programs store.' }
    )
  ),
  durable_store: t.enum(['database', 'coordination'], {
    default: 'database',
    description:
      'Where runs of workflows are stored: in the database of the program, or on the PostgreSQL server of [coordination], where several hosts share them.'
  }),
  public_directory: t.string({
    default: 'public',
    minLength: 1,
    description: 'Folder next to the program with static files; index.html is sent for every page.'
  }),
  ssr_dev_url: t.optional(
    t.string({
      minLength: 1,
      pattern: '^https?://',
      'x-env': 'SVC_SSR_DEV_URL',
      description:
        'URL of an SSR dev server, such as Vite, that page requests are forwarded to. If it cannot be reached, static files are sent.'
    })
  ),
  orchestrate_vite: t.boolean({
    default: false,
    'x-env': 'SVC_ORCHESTRATE_VITE',
    'x-env-type': 'truthy',
    description: 'Whether Vite runs on port 3001 for the output of svc build.'
  }),
  web_directory: t.string({
    default: 'dist',
    minLength: 1,
    description: 'Folder next to the program with the output of svc build.'
  }),
  open: t.boolean({
    default: false,
    description: 'Whether a browser is opened when the program is first served.'
  }),
  dev: t.boolean({
    default: false,
    description: 'Whether open pages are reloaded on each save and show errors; svc dev sets it.'
  }),
  watch: t.boolean({
    default: true,
    description:
      'Whether the program is reloaded when its file is saved. A program with errors does not replace the old one.'
  }),
  threads: t.optional(
    t.integer({
      minimum: 1,
      maximum: 256,
      description: 'Maximum threads of the program, which starts with one. Default: one per processor, and at least 4.'
    })
  ),
  capabilities: t.array(t.enum(['fs', 'process', 'env', 'net', 'browser', 'secrets']), {
    default: ['fs', 'process', 'env', 'net', 'browser'],
    'x-reload': 'live',
    'x-guards': true,
    description:
      'Capabilities of programs from the command line. A line "// vox:caps" in a file can only restrict them.'
  }),
  steps: t.integer({
    default: 10_000_000,
    minimum: 1,
    'x-reload': 'live',
    description: 'Maximum steps of a program: evaluated nodes.'
  }),
  test_steps: t.integer({
    default: 100_000,
    minimum: 1,
    'x-reload': 'live',
    description: 'Maximum steps of each test, and of each value of a @forall.'
  }),
  time_limit_ms: t.integer({
    default: 60_000,
    minimum: 1,
    'x-reload': 'live',
    description: 'Time limit of a program, or of all tests of one file together, in milliseconds.'
  }),
  heap_mb: t.integer({
    default: 512,
    minimum: 16,
    'x-reload': 'live',
    description: 'Memory limit of a program, in megabytes.'
  }),
  workflow_journal_off: t.boolean({
    default: false,
    'x-env': 'SVC_WORKFLOW_JOURNAL_CODEX_OFF',
    'x-env-type': 'truthy',
    description:
      'Whether workflow journals are excluded from research_metrics. They are stored with their runs in any case.'
  }),
  plan_session_id: t.optional(
    t.string({
      minLength: 1,
      maxLength: 2048,
      'x-env': 'SVC_PLAN_SESSION_ID',
      description: 'Plan of new workflow runs; stored with each run.'
    })
  ),
  plan_node_id: t.optional(
    t.string({ minLength: 1, maxLength: 256, 'x-env': 'SVC_PLAN_NODE_ID', description: 'Step of that plan.' })
  ),
  plan_version: t.optional(
    t.integer({ minimum: 1, 'x-env': 'SVC_PLAN_VERSION', description: 'Version of that plan.' })
  ),
  workflow_keep_runs: t.integer({
    default: 10_000,
    minimum: 0,
    description: 'Number of ended workflow runs to keep per program, newest first, with their journals.'
  }),
  workflow_keep_days: t.integer({
    default: 30,
    minimum: 0,
    description: 'Days for which ended workflow runs are kept; active runs are always kept.'
  }),
  run_workflow: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_RUN_WORKFLOW',
      description: 'Name of a workflow that svc run runs instead of the program. It exits with 2 if the workflow fails.'
    })
  ),
  workflow_args: t.string({
    default: '{}',
    'x-env': 'SVC_WORKFLOW_ARGS',
    description: 'Arguments of that workflow as JSON: an object by parameter name, or an array.'
  }),
  call_depth: t.integer({
    default: 10_000,
    minimum: 10,
    maximum: 20_000,
    'x-reload': 'live',
    description: 'Maximum depth of nested calls in a program.'
  }),
  forall_iterations: t.integer({
    default: 1000,
    minimum: 1,
    'x-reload': 'live',
    description: 'Number of values for each @forall.'
  })
})

export type Settings = Infer<typeof settings>

export type AuthSettings = NonNullable<Settings['auth']>

/** Returns the settings of identities with their defaults. */
export function authSettings({ auth }: Pick<Settings, 'auth'>): AuthSettings {
  return auth ?? { secret: [], issuers: [], trusted_proxies: [], oauth: {}, webhooks: {} }
}

export type FilesSettings = NonNullable<Settings['files']>

/** Returns the settings of stored files with their defaults. */
export function filesSettings({ files }: Pick<Settings, 'files'>): FilesSettings {
  return files ?? { folder: '.vox/files', max_bytes: 52_428_800, types: [] }
}

export function limitsOf({ time_limit_ms, heap_mb, call_depth }: Settings, steps: number): Limits {
  return { steps, milliseconds: time_limit_ms, bytes: heap_mb * 2 ** 20, depth: call_depth }
}
