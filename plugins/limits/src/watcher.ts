import { errorMessage, type Logger } from '@svc/plugin-sdk'
import { judge, type Warning } from './judge.ts'
import type { Measurement } from './measure.ts'
import type { Settings } from './settings.ts'

export interface WatcherOptions {
  readonly measure: () => Promise<Measurement>
  readonly settings: () => Settings
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** Called when the warnings differ from those before. */
  readonly changed: () => void
}

/** Measures in intervals, and keeps the last measurement with its warnings. */
export class Watcher {
  readonly #options: WatcherOptions
  #last: Measurement | null = null
  #warnings: readonly Warning[] = []
  #since = new Map<string, number>()
  #hasFailed = false

  constructor(options: WatcherOptions) {
    this.#options = options
  }

  get last(): Measurement | null {
    return this.#last
  }

  get warnings(): readonly (Warning & { readonly since: number })[] {
    return this.#warnings.map(each => ({ ...each, since: this.#since.get(each.resource) ?? Date.now() }))
  }

  /** Why the database refuses writes; null if it does not. */
  get refusal(): string | null {
    return this.#warnings.find(({ level }) => level === 'refuse')?.message ?? null
  }

  /** Measures once, and logs what changed. */
  async look(): Promise<void> {
    const { measure, settings, log, changed } = this.#options
    let measured: Measurement
    try {
      measured = await measure()
    } catch (error) {
      if (!this.#hasFailed) log.error('disk and memory cannot be measured', { reason: errorMessage(error) })
      this.#hasFailed = true
      return
    }
    this.#hasFailed = false
    const before = this.#warnings
    const warnings = judge(measured, settings(), before)
    this.#last = measured
    this.#warnings = warnings
    const keyOf = ({ resource, level }: Warning): string => `${resource} ${level}`
    const [known, present] = [new Set(before.map(keyOf)), new Set(warnings.map(keyOf))]
    for (const warning of warnings) {
      if (known.has(keyOf(warning))) continue
      if (!before.some(({ resource }) => resource === warning.resource)) this.#since.set(warning.resource, measured.at)
      log[warning.level === 'refuse' ? 'error' : 'warn'](warning.message, { hint: warning.hint })
    }
    for (const { resource } of before)
      if (!warnings.some(each => each.resource === resource)) log.info(`${resource}: there is enough again`)
    if (known.size !== present.size || [...known].some(key => !present.has(key))) changed()
  }
}
