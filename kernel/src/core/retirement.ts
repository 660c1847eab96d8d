import type { KernelLogger } from './logger.ts'
import type { Unit } from './unit.ts'

/**
 * Drains and disposes units that no longer serve, users before providers.
 *
 * A unit of an earlier change may still be draining when a later change retires its provider: the provider waits for
 * it. Independent units do not wait for each other.
 */
export class Retirement {
  readonly #log: KernelLogger
  readonly #timeoutOf: (plugin: string) => number
  readonly #leaving = new Map<Unit, Promise<void>>()

  /** `timeoutOf` returns the limit in milliseconds for draining a plugin. The same limit applies to disposing it. */
  constructor(log: KernelLogger, timeoutOf: (plugin: string) => number) {
    this.#log = log
    this.#timeoutOf = timeoutOf
  }

  /**
   * Retires units, given in activation order. Resolves when all of them, and those of earlier changes, are disposed.
   * `waitedMs`: time already spent waiting for their calls.
   */
  async retire(units: readonly Unit[], waitedMs = 0): Promise<void> {
    for (const unit of [...units].reverse()) {
      if (this.#leaving.has(unit)) continue
      const users = [...this.#leaving].filter(([other]) => uses(other, unit)).map(([, retired]) => retired)
      const retired = this.#retire(unit, users, waitedMs).finally(() => this.#leaving.delete(unit))
      this.#leaving.set(unit, retired)
    }
    await Promise.all(this.#leaving.values())
  }

  async #retire(unit: Unit, users: readonly Promise<void>[], waitedMs: number): Promise<void> {
    unit.leave()
    await Promise.all(users)
    const limitMs = this.#timeoutOf(unit.name)
    const log = this.#log.forPlugin(unit.name)
    if (!(await unit.drain(Math.max(limitMs - waitedMs, 1)))) {
      const tasks = [...unit.tasks.values()].join(', ') || 'none'
      log.warn(`still busy after ${limitMs} ms: ${unit.inFlight} calls, tasks ${tasks}`)
    }
    const report = await unit.dispose(limitMs)
    for (const error of report.errors) log.warn('a disposer failed', { error })
    for (const label of report.stuck) log.error(`disposer "${label}" did not settle and was abandoned`)
  }
}

function uses(user: Unit, provider: Unit): boolean {
  const { after, refs } = user.manifest
  return (
    user.providers.has(provider.instance) ||
    after.includes(provider.name) ||
    refs.some(token => provider.manifest.provides.includes(token))
  )
}
