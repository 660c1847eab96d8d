import type { InferenceEndpoint, RemoteModel } from '@svc/contracts'
import { inferenceErrors, WireFailure } from '@svc/contracts'
import { isSvcError, raceAbort } from '@svc/plugin-sdk'
import { candidates, type ServerCandidate } from './address.ts'
import { OllamaWire } from './ollama-wire.ts'
import { OpenAiWire } from './openai-wire.ts'
import type { Settings } from './settings.ts'
import type { Wire, WireOptions } from './wire.ts'

export interface InferenceConnection {
  readonly endpoint: InferenceEndpoint
  readonly wire: Wire
}

/** Lifetime of the cached model list, in milliseconds. */
const FRESH_MS = 30_000

interface CachedConnection extends InferenceConnection {
  readonly models: readonly RemoteModel[]
  /** On the clock of `performance.now()`. */
  readonly at: number
}

export interface ConnectorOptions {
  /** Path of the setting that holds the address, if it belongs to another plugin. */
  readonly named?: string
  /** Returns the address of svc's own model server. */
  readonly own?: () => string
  /** Returns the address of the router; null if the router is disabled. */
  readonly router?: () => string | null
  readonly passFor?: WireOptions['passFor']
}

/** Finds the server, detects its format, and caches both until a request fails. */
export class Connector {
  readonly #settings: () => Settings
  readonly #named: string | undefined
  readonly #own: (() => string) | undefined
  readonly #router: (() => string | null) | undefined
  readonly #passFor: WireOptions['passFor']
  #found: CachedConnection | undefined
  #looking: Promise<CachedConnection> | undefined

  constructor(settings: () => Settings, { named, own, router, passFor }: ConnectorOptions = {}) {
    this.#settings = settings
    this.#named = named
    this.#own = own
    this.#router = router
    this.#passFor = passFor
  }

  /**
   * Returns the cached connection, or searches for a server. Throws `ICL_UNREACHABLE`, `ICL_UNAUTHORIZED` or
   * `ICL_ADDRESS_INVALID`.
   */
  async connect(signal?: AbortSignal): Promise<InferenceConnection> {
    return this.#found ?? this.#look(signal)
  }

  /** Returns the models of the server; the list is at most 30 seconds old. Throws like {@link Connector.connect}. */
  async models(signal?: AbortSignal): Promise<readonly RemoteModel[]> {
    const found = this.#found
    if (found !== undefined && performance.now() - found.at < FRESH_MS) return found.models
    return (await this.#look(signal)).models
  }

  /** Clears the cache, so that the next request searches again. */
  forget(): void {
    this.#found = undefined
  }

  /** Searches for a server. Concurrent callers share one search; an abort ends only the caller's wait. */
  async #look(signal: AbortSignal | undefined): Promise<CachedConnection> {
    this.#looking ??= this.#search().finally(() => {
      this.#looking = undefined
    })
    const found = await raceAbort(signal, this.#looking)
    this.#found = found
    return found
  }

  async #search(): Promise<CachedConnection> {
    const settings = this.#settings()
    const failures: string[] = []
    const known = { named: this.#named, own: this.#own, router: this.#router }
    for (const candidate of candidates(settings, known)) {
      try {
        return await this.#probe(candidate, settings)
      } catch (error) {
        if (isSvcError(error)) throw error
        failures.push(
          `${candidate.url} (${this.#named ?? origin(candidate.setting)}): ${connectFailure(error, settings.probe_timeout_ms)}`
        )
      }
    }
    throw inferenceErrors.create('ICL_UNREACHABLE', `no model server is reachable: ${failures.join('; ')}`, {
      data: { tried: failures },
      hint: 'start one with svc serve or svc model serve --model DIR, or set INFER_URL to the address of a running one'
    })
  }

  async #probe({ url, setting, api: supported }: ServerCandidate, settings: Settings): Promise<CachedConnection> {
    const options = { url, apiKey: settings.api_key, passFor: this.#passFor }
    const chosen = settings.api === 'auto' ? (supported ?? 'auto') : settings.api
    const wires: readonly Wire[] = [new OllamaWire(options), new OpenAiWire(options)].filter(
      ({ api }) => chosen === 'auto' || chosen === api
    )
    let failure: unknown
    for (const wire of wires) {
      try {
        const models = await wire.models(AbortSignal.timeout(settings.probe_timeout_ms))
        return {
          endpoint: { url, api: wire.api, setting: this.#named ?? setting },
          wire,
          models,
          at: performance.now()
        }
      } catch (error) {
        if (error instanceof WireFailure && (error.status === 401 || error.status === 403)) {
          throw unauthorized(url, error, settings.api_key !== undefined)
        }
        failure ??= error
        // A server that does not respond at all will not respond in the other format either.
        if (!(error instanceof WireFailure) && !(error instanceof SyntaxError)) break
      }
    }
    throw failure
  }
}

export function unauthorized(url: string, failure: WireFailure, hasKey: boolean): Error {
  const what = hasKey ? 'does not accept the key of INFER_API_KEY' : 'requires a key'
  return inferenceErrors.create('ICL_UNAUTHORIZED', `the model server at ${url} ${what}: ${failure.message}`, {
    at: { path: 'plugins.inference-client.api_key' },
    hint: 'set INFER_API_KEY, or api_key in [plugins.inference-client], to a key that the server accepts'
  })
}

function origin(setting: string): string {
  return setting === 'default' ? 'default address' : `plugins.inference-client.${setting}`
}

/** Returns the reason in one line: `fetch` hides it in the cause of its error. */
function connectFailure(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return `no response within ${timeoutMs} ms`
  const { cause } = error
  const code = (cause as { code?: unknown } | undefined)?.code
  if (code === 'ECONNREFUSED') return 'nothing listens there'
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message
}
