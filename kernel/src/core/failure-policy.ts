import type { ChangeReport } from '@svc/contracts'
import { errorMessage, isSvcError, type SvcError } from '@svc/plugin-sdk'
import type { Inventory } from './inventory.ts'
import type { KernelLogger } from './logger.ts'
import type { Plan } from './plan.ts'
import { type PluginRecord, QUARANTINE_RULE } from './record.ts'
import type { Unit } from './unit.ts'

/** Services and actions that the failure policy uses. */
export interface FailureHost {
  readonly log: KernelLogger
  readonly inventory: Inventory
  /** Aborted when the kernel closes. */
  readonly closing: AbortSignal
  /** True before the first generation serves. */
  isBooting(): boolean
  change(request: {
    readonly forced?: readonly string[]
    readonly retry?: readonly string[]
    readonly cause: string
  }): Promise<ChangeReport>
  /** Ends the process with the error. */
  abort(error: unknown): void
}

/** Decides the effect of an error on its plugin: continue, retry later or quarantine. */
export class FailurePolicy {
  readonly #host: FailureHost

  constructor(host: FailureHost) {
    this.#host = host
  }

  /** Handles an error that no caller can receive, from a plugin's timer or listener. */
  uncaught(unit: Unit, error: unknown): void {
    const { inventory } = this.#host
    const policy = inventory.configurationOf(unit.name).policy.uncaught
    const log = this.#host.log.forPlugin(unit.name)
    log.error('uncaught error', { error, policy })
    if (policy === 'abort-process') {
      if (unit.kill === null) this.#host.abort(error)
      else unit.kill(error)
      return
    }
    const record = inventory.records.get(unit.name)
    // A newer unit of the plugin already serves.
    if (record === undefined || record.unit !== unit) return
    record.fault = `uncaught: ${errorMessage(error)}`
    unit.suspect()
    if (policy === 'restart' && !record.retrying) this.#restart(record, unit)
  }

  /**
   * Handles the unexpected end of an isolated unit's process. Its operations fail with status 503 until a retry
   * succeeds.
   */
  crashed(unit: Unit, error: SvcError): void {
    const record = this.#host.inventory.records.get(unit.name)
    if (this.#host.closing.aborted) return
    this.#host.log.forPlugin(unit.name).error(error.message, { error })
    // A retired unit only drains, so its state does not change.
    if (!unit.retired) unit.lifecycle.to('failed')
    if (record?.unit !== unit) return
    record.running = null
    const { onBootFailure } = this.#host.inventory.configurationOf(unit.name).policy
    this.#fail(record, error.message, onBootFailure !== 'continue')
    if (record.quarantined) void this.#host.change({ cause: `${unit.name} is quarantined` }).catch(() => {})
  }

  /**
   * Returns the failed plugin if the change can continue without it, and records the failure. Undefined if the plugin
   * already runs, the change requires it, or its policy aborts the start. Repeated failures of a plugin in `retry` are
   * logged only once in full.
   */
  leftOut(
    error: unknown,
    plan: Plan,
    { mustSucceed = [], retry = [] }: { readonly mustSucceed?: readonly string[]; readonly retry?: readonly string[] }
  ): string | undefined {
    const { inventory, closing } = this.#host
    if (closing.aborted) return undefined
    const booting = this.#host.isBooting()
    const name = suspects(error).find(
      each =>
        plan.add.includes(each) &&
        !mustSucceed.includes(each) &&
        !(booting && inventory.configurationOf(each).policy.onBootFailure === 'abort')
    )
    const record = name === undefined ? undefined : inventory.records.get(name)
    if (record === undefined) return undefined
    const text = errorMessage(error)
    record.error = error
    if (record.fault === text && retry.includes(record.name)) this.#host.log.forPlugin(record.name).info('failed again')
    else this.#host.log.forPlugin(record.name).error(text, { error })
    this.#fail(record, text)
    return record.name
  }

  /** Records that the code of a plugin cannot be read. The plugin does not run. */
  unreadable(record: PluginRecord, error: unknown): void {
    record.error = error
    record.fault = errorMessage(error)
    this.#host.log.forPlugin(record.name).error(`cannot load: ${record.fault}`, { error })
  }

  /** Records why a change was refused on the plugin at fault, which keeps running. */
  refused(error: unknown, concerned: readonly string[]): void {
    const names = suspects(error)
    // In a conflict of two plugins, the one that the change concerns is at fault.
    const name = names.find(each => concerned.includes(each)) ?? names[0]
    const record = name === undefined ? undefined : this.#host.inventory.records.get(name)
    if (record === undefined) return
    record.error = error
    record.refusal = errorMessage(error)
  }

  #fail(
    record: PluginRecord,
    why: string,
    retry = this.#host.inventory.configurationOf(record.name).policy.onBootFailure !== 'continue'
  ): void {
    const log = this.#host.log.forPlugin(record.name)
    if (record.fail(why)) {
      record.cancelRetry()
      log.error(...this.#quarantined(record))
      return
    }
    if (!retry || this.#host.closing.aborted) return
    const delay = record.scheduleRetry(() => {
      // Another change may have activated or disabled the plugin in the meantime.
      if (record.lifecycle.state !== 'failed') return
      this.#host
        .change({ retry: [record.name], cause: `retry of ${record.name}` })
        .catch((cause: unknown) => log.warn('retry failed', { error: cause }))
    })
    log.info(`next retry in ${delay} ms`)
  }

  /** Schedules a restart. The old unit serves until the new one replaces it. */
  #restart(record: PluginRecord, unit: Unit): void {
    const log = this.#host.log.forPlugin(record.name)
    if (record.count()) {
      const why = record.fault ?? 'uncaught errors'
      record.fail(why)
      log.error(...this.#quarantined(record))
      void this.#host.change({ cause: `${record.name} is quarantined` }).catch(() => {})
      return
    }
    const delay = record.scheduleRetry(() => {
      if (record.unit !== unit) return
      this.#host
        .change({ forced: [record.name], cause: `restart of ${record.name} after an uncaught error` })
        .catch((cause: unknown) => log.error('restart failed', { error: cause }))
    })
    log.info(`restart in ${delay} ms`)
  }

  /** Returns the log line for a quarantine. The failures themselves are already logged. */
  #quarantined({ name }: PluginRecord): [message: string, fields: Readonly<Record<string, unknown>>] {
    return [`quarantined after ${QUARANTINE_RULE}`, { hint: `svc plugins enable ${name} retries it` }]
  }
}

/** Returns the plugins that an error names, the most probable culprit first. In a conflict, that is the later one. */
function suspects(error: unknown): string[] {
  if (!isSvcError(error)) return []
  if (error.code === 'KRN_CONFLICT') {
    const owners = (error.data as { readonly owners?: readonly string[] } | undefined)?.owners
    if (owners !== undefined) return [...owners].reverse()
  }
  return error.plugin === undefined ? [] : [error.plugin]
}
