import { isDeepStrictEqual } from 'node:util'
import { type ConfigSources, emptiedFiles, lostGuards, type Resolved, type Table } from '@svc/config'
import type { Logger } from '@svc/plugin-sdk'

/**
 * Time in milliseconds for which a doubtful configuration must stay the same before it is applied. Some editors
 * truncate a file before they write it, or write it in parts, and this must not briefly remove a token or rule.
 */
export const SETTLED_MS = 2_000

/** Time in milliseconds until a configuration that may be half-written is read again. */
export const REREAD_MS = 150

interface Configuration {
  readonly sources: ConfigSources
  readonly resolved: Resolved
}

/** Configuration that may come from an unfinished save. */
interface Doubtful {
  readonly tables: readonly Table[]
  /** Time of the first read with these tables, on the clock of `performance.now()`. */
  readonly since: number
}

/**
 * Holds back changes of configuration files that may be half of a save: those that empty a file, or that remove or
 * empty a guard, which is a secret or a setting with `x-guards`.
 */
export class UnfinishedSaves {
  readonly #log: Logger
  #doubtful: Doubtful | undefined

  constructor(log: Logger) {
    this.#log = log
  }

  reset(): void {
    this.#doubtful = undefined
  }

  /** True if the change must wait. The caller must then read the files again, and ask again. */
  mustWait(before: Configuration, after: Configuration): boolean {
    if (before.sources === after.sources) return false
    const files = emptiedFiles(before.sources, after.sources).join(', ')
    const guards = lostGuards(before.resolved, after.resolved).join(', ')
    const last = this.#doubtful
    this.#doubtful = undefined
    if (files === '' && guards === '') return false
    const tables = after.sources.layers.map(({ table }) => table)
    const isSame = last !== undefined && isDeepStrictEqual(last.tables, tables)
    const since = isSame ? last.since : performance.now()
    const ageMs = performance.now() - since
    const what = files === '' ? `${guards}: no longer set` : `${files}: empty or missing`
    if (isSame && ageMs >= SETTLED_MS) {
      const result = files === '' ? 'the change is applied' : 'its settings no longer apply'
      this.#log.warn(`${what} for ${Math.round(ageMs)} ms; ${result}`)
      return false
    }
    if (!isSame) this.#log.debug(`${what}; reading again before this is applied`)
    this.#doubtful = { tables, since }
    return true
  }
}
