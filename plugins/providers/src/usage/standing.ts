import type { Standing } from '../choice/score.ts'
import { HOSTED_NAMES, type HostedName, PROVIDERS, type ProviderName } from '../provider-list.ts'
import type { ModelEntry } from '../registry/entry.ts'
import type { UsageRow } from './ledger.ts'
import { type Limits, limitOf, usageModel } from './limits.ts'

type Limited = Pick<ModelEntry, 'provider' | 'id' | 'capabilities'>

/** Calls that are left, and marks, from the rows of today. */
export class Standings {
  readonly #limits: Limits
  readonly #now: number
  readonly #calls = new Map<string, number>()
  readonly #coolDowns = new Map<string, number>()

  /** `now`: Unix milliseconds. */
  constructor(rows: readonly UsageRow[], limits: Limits, now: number) {
    this.#limits = limits
    this.#now = now
    for (const { provider, model, calls, cool_down_until } of rows) {
      const name = `${provider}/${model}`
      this.#calls.set(name, (this.#calls.get(name) ?? 0) + calls)
      this.#calls.set(provider, (this.#calls.get(provider) ?? 0) + calls)
      if (cool_down_until !== null) {
        this.#coolDowns.set(name, Math.max(cool_down_until, this.#coolDowns.get(name) ?? 0))
      }
    }
  }

  of(entry: Limited): Standing {
    const name = `${entry.provider}/${usageModel(entry)}`
    const wait = (this.#coolDowns.get(name) ?? 0) - this.#now
    return {
      remaining: this.#remaining(entry, name),
      isRateLimited: wait > 0,
      retryAfterMs: wait > 0 ? wait : null
    }
  }

  /** Applies the daily limit of models.toml, too, unless the settings have a limit for this very model. */
  #remaining(entry: Limited, name: string): number | null {
    const limit = limitOf(this.#limits, entry)
    const own = this.#calls.get(name) ?? 0
    const used = limit?.scope === 'provider' ? this.calls(entry.provider) : own
    const left = limit === null ? Number.POSITIVE_INFINITY : limit.calls - used
    const { rateLimitRpd } = entry.capabilities
    const ownLeft = rateLimitRpd === null || limit?.scope === 'model' ? Number.POSITIVE_INFINITY : rateLimitRpd - own
    const remaining = Math.min(left, ownLeft)
    return Number.isFinite(remaining) ? Math.max(0, remaining) : null
  }

  /** True if the model was marked today, even if it is usable again. */
  wasMarked(entry: Pick<ModelEntry, 'provider' | 'id'>): boolean {
    return this.#coolDowns.has(`${entry.provider}/${usageModel(entry)}`)
  }

  /** Calls that a provider has left today; null if it is unlimited. */
  remaining(provider: ProviderName): number | null {
    const limit = this.#limits.get(`${provider}/*`)
    return limit === undefined ? null : Math.max(0, limit - (this.#calls.get(provider) ?? 0))
  }

  /** Returns the limits of hosted providers that allow calls, and of which none is left today. */
  usedUp(): { readonly name: string; readonly provider: HostedName; readonly calls: number; readonly limit: number }[] {
    return [...this.#limits].flatMap(([name, limit]) => {
      const provider = HOSTED_NAMES.find(each => name.startsWith(`${each}/`))
      if (provider === undefined) return []
      const calls = this.#calls.get(name === `${provider}/*` ? provider : name) ?? 0
      return limit > 0 && calls >= limit ? [{ name, provider, calls, limit }] : []
    })
  }

  /** Calls of a provider today. */
  calls(provider: ProviderName): number {
    return this.#calls.get(provider) ?? 0
  }

  /** True while a model of the provider cools down. */
  isLimited(provider: ProviderName): boolean {
    return [...this.#coolDowns].some(([name, until]) => name.startsWith(`${provider}/`) && until > this.#now)
  }
}

/**
 * Returns the provider with the most calls left, of those with a key and without a mark; the local server, if none is
 * left; null if that is excluded too.
 */
export function bestProvider(
  standings: Standings,
  hasKey: (provider: HostedName) => boolean,
  localIsAllowed: boolean
): ProviderName | null {
  const left = (name: ProviderName): number => standings.remaining(name) ?? Number.POSITIVE_INFINITY
  const [best] = PROVIDERS.filter(
    name => name !== 'ollama' && hasKey(name) && !standings.isLimited(name) && left(name) > 0
  ).sort((a, b) => (left(a) === left(b) ? 0 : left(b) - left(a)))
  return best ?? (localIsAllowed ? 'ollama' : null)
}
