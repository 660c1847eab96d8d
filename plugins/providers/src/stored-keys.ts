import type { DeclaredSecret, DeclaredSecretResolver } from '@svc/contracts'
import { errorMessage, type Logger, raceAbort, withTimeout } from '@svc/plugin-sdk'
import { HOSTED, HOSTED_NAMES, type HostedName } from './provider-list.ts'

export type StoredKeys = ReadonlyMap<HostedName, string>

const FRESH_MS = 60_000
const TIMEOUT_MS = 5_000

/** Keys of providers from the secret resolver: a vault, a keyring or a file. They are read at most once a minute. */
export class StoredKeySource {
  readonly #resolver: () => DeclaredSecretResolver | undefined
  readonly #log: Logger
  #found: { readonly at: number; readonly keys: Promise<StoredKeys> } | undefined
  readonly #warned = new Set<string>()

  constructor(resolver: () => DeclaredSecretResolver | undefined, log: Logger) {
    this.#resolver = resolver
    this.#log = log
  }

  /** Returns the keys of the providers that `isSet` is false for. A key that cannot be read is absent. */
  load(isSet: (name: HostedName) => boolean, signal?: AbortSignal): Promise<StoredKeys> {
    if (this.#resolver() === undefined) return Promise.resolve(new Map())
    if (this.#found === undefined || performance.now() - this.#found.at >= FRESH_MS) {
      this.#found = { at: performance.now(), keys: this.#read(HOSTED_NAMES.filter(name => !isSet(name))) }
    }
    return raceAbort(signal, this.#found.keys)
  }

  async #read(names: readonly HostedName[]): Promise<StoredKeys> {
    const keys = await Promise.all(names.map(async name => [name, await this.#one(name)] as const))
    return new Map(keys.flatMap(([name, key]) => (key === null ? [] : [[name, key] as const])))
  }

  async #one(name: HostedName): Promise<string | null> {
    const { variable } = HOSTED[name]
    try {
      return await withTimeout(TIMEOUT_MS, async signal => {
        const resolver = this.#resolver()
        const finding = await resolver?.find(variable, signal)
        return finding?.present === true ? ((await resolver?.resolve(variable, signal)) ?? null) : null
      })
    } catch (error) {
      if (!this.#warned.has(variable))
        this.#log.warn('the stored key of a provider is not readable', { variable, reason: errorMessage(error) })
      this.#warned.add(variable)
      return null
    }
  }
}

/** Keys that only this plugin uses, for `svc secrets`. */
export const DECLARED_KEYS: readonly DeclaredSecret[] = (['cerebras', 'deepseek', 'sambanova', 'custom'] as const).map(
  name => {
    const { title, variable } = HOSTED[name]
    return {
      id: `${name}.api_key`,
      env: variable,
      registry: name,
      policy: 'optional',
      material: 'api_key',
      remediation: `Create a key at ${title}, then store it with svc secrets set ${variable}.`,
      description: `Key of ${title}, for chat models`,
      capabilities: ['chat']
    }
  }
)
