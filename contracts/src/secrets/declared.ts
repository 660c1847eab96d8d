import { point } from '@svc/plugin-sdk'

/** Groups of secrets with the same rules in strict profiles. */
export const SECRET_CLASSES = ['runtime', 'account', 'operator', 'integration', 'transport', 'bootstrap'] as const
export type SecretClass = (typeof SECRET_CLASSES)[number]

/** Forms of a secret. */
export const SECRET_MATERIALS = [
  'api_key',
  'token',
  'password',
  'url',
  'signing_key',
  'client_id',
  'email',
  'user_agent',
  'other'
] as const
export type SecretMaterial = (typeof SECRET_MATERIALS)[number]

/**
 * A secret that a plugin declares once, for `svc secrets` and the resolver. Plain data, so that isolated plugins can
 * declare secrets, too.
 */
export interface DeclaredSecret {
  /** Unique id of lower-case letters, digits, `.`, `_` and `-`, such as `openrouter.api_key`. */
  readonly id: string
  /** Canonical environment variable, such as `OPENROUTER_API_KEY`. Also its name in backends without `backendKey`. */
  readonly env: string
  /** Other environment variables, in order of precedence. */
  readonly aliases?: readonly string[]
  /** Former environment variables. Strict profiles reject them. */
  readonly deprecatedAliases?: readonly string[]
  /** Name of the secret in backends. Default: `env`. */
  readonly backendKey?: string
  /** Name of the registry in `auth.json` and of the entry in the keyring. Default: `env`, which is always read, too. */
  readonly registry?: string
  /** `required`: its absence is reported as an error. */
  readonly policy?: 'required' | 'optional'
  /** Next step for a user who lacks the secret, as one sentence or one command. */
  readonly remediation: string
  /** Describes what the secret gives access to. */
  readonly description: string
  /** Default `operator`. */
  readonly class?: SecretClass
  /** Default `token`. */
  readonly material?: SecretMaterial
  /** Names of features that need it, such as `chat`. */
  readonly capabilities?: readonly string[]
  /** Whether commands may store it in a backend. Default true. */
  readonly persistable?: boolean
  /** Whether machines of a mesh may share it. Default false. */
  readonly shareable?: boolean
  /** Whether it must not leave this machine, so that a remote vault refuses it. Default false. */
  readonly deviceLocalOnly?: boolean
  /** Whether strict profiles accept it from an environment variable. Default true. */
  readonly environmentInStrict?: boolean
  /** Whether strict profiles accept it from the auth file, the keyring and the mesh file. Default true. */
  readonly compatInStrict?: boolean
  /** Age in days after which the vault reports it as stale. Absent: no limit. */
  readonly rotationDays?: number
}

/** Secrets that plugins declare. Two with the same id or the same variable are a conflict. */
export const declaredSecrets = point<DeclaredSecret>('secrets.declared', {
  data: true,
  keys: ({ id, env, aliases = [], deprecatedAliases = [] }) => [
    `secret ${id}`,
    ...[env, ...aliases, ...deprecatedAliases].map(name => `secret variable ${name}`)
  ]
})
