import { type DeclaredSecretResolver, type KernelAdmin, RemoteFailure, secretsPolicy } from '@svc/contracts'
import { errorMessage, isSvcError, parseSecretReference, type SecretReference } from '@svc/plugin-sdk'
import type { ChannelSecret } from './channel-secret.ts'

/** Backends whose secrets strict profiles treat like variables and files. */
const NO_BACKENDS: ReadonlySet<string> = new Set(['env', 'keyring', 'auth', 'mesh_env'])

export interface CredentialProblem {
  readonly message: string
  /** Next step, as one sentence. */
  readonly hint: string
}

/** A setting that a channel cannot do without, and its environment variable. */
interface RequiredSetting {
  readonly setting: string
  readonly variable: string
}

export interface CredentialSources {
  /** Returns the settings of this plugin, with resolved secrets. */
  settings(): Readonly<Record<string, unknown>>
  /** Returns the resolver of declared secrets, if the plugin `secrets` runs. */
  secrets(): DeclaredSecretResolver | undefined
  /** Returns the reports of settings, to find out where a value comes from. */
  admin?(): Pick<KernelAdmin, 'settings'> | undefined
}

/**
 * Credentials of channels, in this order: the environment, a backend, the keyring, the auth file. A setting in
 * `svc.toml`, such as a reference `secret://vault/…`, replaces all but the environment. Values are read at each use and
 * are not stored.
 */
export class ChannelCredentials {
  readonly #sources: CredentialSources

  constructor(sources: CredentialSources) {
    this.#sources = sources
  }

  /** Returns why one of these credentials cannot be used, or that the required setting has no value; else null. */
  async problem(secrets: readonly ChannelSecret[], required?: RequiredSetting): Promise<CredentialProblem | null> {
    for (const secret of secrets) {
      const source = await this.#find(secret)
      if ('hint' in source) return source
    }
    if (required === undefined || this.#sources.settings()[required.setting] !== undefined) return null
    const { setting, variable } = required
    return { message: `${variable} is not set`, hint: `set ${variable}, or news.${setting}` }
  }

  /** Returns a credential. Throws {@link RemoteFailure} of the class `config` with the code `credential_missing`. */
  async read(secret: ChannelSecret, signal?: AbortSignal): Promise<string> {
    const source = await this.#find(secret, signal)
    if ('hint' in source) throw missing(source)
    if (source.value !== null) return source.value
    try {
      return await source.resolver.resolve(secret.declared.env, signal)
    } catch (error) {
      signal?.throwIfAborted()
      throw missing({ message: errorMessage(error), hint: secret.declared.remediation })
    }
  }

  async #find(
    { setting, declared }: ChannelSecret,
    signal?: AbortSignal
  ): Promise<{ value: string } | { value: null; resolver: DeclaredSecretResolver } | CredentialProblem> {
    const admin = this.#sources.admin?.()
    const own = this.#sources.settings()[setting]
    const value = typeof own === 'string' && own.trim() !== '' ? own : null
    const report = admin?.settings('news').find(({ key }) => key === `news.${setting}`)
    const reference = typeof report?.value === 'string' ? parseSecretReference(report.value) : null
    if (value !== null && (reference !== null || report?.layer !== 'environment')) {
      const isBackend = reference !== null && isFromBackend(reference, declared)
      if (isBackend || declared.environmentInStrict !== false || !secretsPolicy(admin).strict) return { value }
      return {
        message: `${setting} is not accepted: strict profiles take ${declared.env} from a backend only`,
        hint: declared.remediation
      }
    }
    const resolver = this.#sources.secrets()
    if (resolver === undefined) {
      if (value !== null) return { value }
      return { message: `${declared.env} is not set`, hint: `set ${declared.env}, or news.${setting}` }
    }
    try {
      const { present, detail } = await resolver.find(declared.env, signal)
      if (present) return { value: null, resolver }
      return { message: absence(declared.env, detail), hint: declared.remediation }
    } catch (error) {
      signal?.throwIfAborted()
      if (value !== null && isSvcError(error) && error.code === 'SEC_UNDECLARED') return { value }
      return { message: `${declared.env} cannot be read: ${errorMessage(error)}`, hint: declared.remediation }
    }
  }
}

/** `auto` applies the rules of the secret that it names, so that another secret does not count. */
function isFromBackend({ backend, name }: SecretReference, { id, env }: ChannelSecret['declared']): boolean {
  return backend === 'auto' ? name === id || name === env : !NO_BACKENDS.has(backend)
}

function absence(variable: string, detail: string | null): string {
  if (detail === null) return `${variable} is not set`
  return detail.startsWith(variable) ? detail : `${variable} cannot be used: ${detail}`
}

function missing({ message, hint }: CredentialProblem): RemoteFailure {
  return new RemoteFailure(`${message}; ${hint}`, { failureClass: 'config', code: 'credential_missing' })
}
