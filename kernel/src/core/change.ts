import type { ChangeReport } from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'
import { activationError } from './activate.ts'
import type { ServiceContainer } from './container.ts'
import { kernelErrors } from './errors.ts'
import type { FailurePolicy } from './failure-policy.ts'
import type { Desired, Wanted } from './inventory.ts'
import { SERVING } from './lifecycle.ts'
import { type Plan, planChange } from './plan.ts'
import { abortAll, assertAlive, buildShadow, type Shadow, type ShadowHost } from './shadow.ts'
import type { Unit } from './unit.ts'

export interface ChangeRequest extends Wanted {
  /** Plugins to replace even if neither code nor settings changed. */
  readonly forced?: readonly string[]
  /** Plugins whose code is reloaded. */
  readonly stale?: readonly string[]
  /** Plugins whose live settings changed. They are notified last; if the change fails, again with the old values. */
  readonly live?: readonly string[]
  /**
   * Plugins to retry, even from quarantine. If the change succeeds, their failure counts are reset. Includes stale
   * ones.
   */
  readonly clearFailures?: readonly string[]
  /** Plugins to retry without resetting their failure counts. */
  readonly retry?: readonly string[]
  /**
   * Plugins whose failure fails the change. Others that do not run are left out if they fail and their policy allows.
   */
  readonly mustSucceed?: readonly string[]
  readonly dryRun?: boolean
  /** Cause of the change, for the list of generations, such as `svc.toml changed`. */
  readonly cause?: string
}

/** The parts of the kernel that a change uses. */
export interface ChangeHost extends ShadowHost {
  readonly failures: FailurePolicy
  /** Makes the shadow the serving generation. Without a shadow, only records the desired state. Synchronous. */
  flip(shadow: Shadow | undefined, desired: Desired): void
}

/**
 * One transaction:
 * 1. Adopts sources and configuration, and reads code.
 * 2. Plans and builds the shadow. If a plugin that does not yet run fails, it is left out and the rest is planned
 *    again.
 * 3. Applies live settings to plugins that stay.
 * 4. Flips to the shadow. Any exception rolls back the whole change.
 */
export class Change {
  readonly #request: ChangeRequest
  readonly #host: ChangeHost
  /** Plugins to retry despite their failures. */
  readonly #retry: Set<string>
  readonly #clearFailures: Set<string>
  readonly #mustSucceed: ReadonlySet<string>
  readonly #begun = new Map<string, Unit>()
  #plan: Plan | undefined

  constructor(request: ChangeRequest, host: ChangeHost) {
    this.#request = request
    this.#host = host
    this.#clearFailures = new Set([...(request.stale ?? []), ...(request.clearFailures ?? [])])
    this.#retry = new Set([...this.#clearFailures, ...(request.retry ?? [])])
    this.#mustSucceed = new Set(request.mustSucceed)
  }

  async run(): Promise<ChangeReport> {
    const { inventory, failures } = this.#host
    const { dryRun } = this.#request
    const adoption = inventory.adopt(this.#request)
    for (const name of adoption.changed) {
      this.#clearFailures.add(name)
      this.#retry.add(name)
    }
    try {
      const problems = await this.#readCode()
      const report = dryRun === true ? this.#preview(problems) : await this.#apply(problems)
      if (dryRun === true) adoption.undo()
      else adoption.settle()
      return report
    } catch (error) {
      await this.#discardBegun()
      // If the first change fails, there is no earlier state to restore: discovered plugins stay listed.
      if (this.#host.current().id > 0 || dryRun === true) adoption.undo()
      if (dryRun !== true) failures.refused(error, [...(this.#plan?.add ?? []), ...(this.#plan?.replace ?? [])])
      throw error
    }
  }

  /** Reads missing or stale code. Throws if the code of a required plugin cannot be read; others are left out. */
  async #readCode(): Promise<ReadonlyMap<string, unknown>> {
    const { inventory, failures } = this.#host
    const problems = await inventory.prepareCode(new Set(this.#request.stale), this.#retry)
    for (const [name, error] of problems) {
      const record = inventory.records.get(name)
      if (record === undefined) continue
      if (record.unit !== null || this.#mustSucceed.has(name)) throw activationError(name, error)
      if (this.#request.dryRun !== true) failures.unreadable(record, error)
    }
    return problems
  }

  #next(problems: ReadonlyMap<string, unknown>): { desired: Desired; plan: Plan } {
    const { inventory } = this.#host
    const current = this.#host.current()
    const desired = inventory.desired(this.#retry)
    const forced = new Set(this.#request.forced)
    const plan = planChange(inventory.running(current), desired.units, desired.graph, forced)
    this.#plan = plan
    if (current.id === 0) inventory.assertRequired(desired, problems)
    return { desired, plan }
  }

  #preview(problems: ReadonlyMap<string, unknown>): ChangeReport {
    const { desired, plan } = this.#next(problems)
    return this.#report(false, desired, plan)
  }

  async #apply(problems: ReadonlyMap<string, unknown>): Promise<ChangeReport> {
    for (;;) {
      const { desired, plan } = this.#next(problems)
      try {
        const nothing = plan.steps.length === 0 && this.#host.current().id > 0
        const shadow = nothing ? undefined : await buildShadow(desired, plan, this.#begun, this.#host)
        await this.#applyLiveSettings(shadow, plan)
        this.#settleRecords(plan)
        this.#host.flip(shadow, desired)
        // Stack traces of resources that units opened refer to this object.
        this.#begun.clear()
        return this.#report(true, desired, plan)
      } catch (error) {
        const left = this.#host.failures.leftOut(error, plan, this.#request)
        if (left === undefined) throw error
        this.#retry.delete(left)
        this.#clearFailures.delete(left)
        // Units activated after it may hold its services, so all new units are disposed.
        if (this.#begun.has(left)) await this.#discardBegun()
      }
    }
  }

  /** Reports a change, with the reasons for which requested plugins do not run. */
  #report(applied: boolean, desired: Desired, plan: Plan): ChangeReport {
    const missing = [...this.#mustSucceed].flatMap(name => {
      const why = this.#host.inventory.whyNot(name, desired, this.#retry)
      return why === null ? [] : [`${name} cannot run: ${why}`]
    })
    return { applied, generation: this.#host.current().id, ...plan, steps: [...plan.steps, ...missing] }
  }

  /** Notifies units of changed live settings. This is the last step before the flip, since it affects serving units. */
  async #applyLiveSettings(shadow: Shadow | undefined, plan: Plan): Promise<void> {
    const current = this.#host.current()
    const services = shadow?.generation.services ?? current.services
    const undo: (() => Promise<void>)[] = []
    try {
      for (const name of this.#request.live ?? []) {
        const unit = current.units.get(name)
        // An isolated unit that is restarting receives the new settings when it activates.
        if (unit === undefined || !plan.keep.includes(name) || !SERVING.has(unit.state)) continue
        undo.push(await this.#applySettings(unit, services))
      }
      for (const unit of shadow?.fresh ?? []) assertAlive(unit)
    } catch (error) {
      for (const each of undo.reverse()) await each()
      throw abortAll(shadow?.prepared ?? [], error)
    }
  }

  async #applySettings(unit: Unit, services: ServiceContainer): Promise<() => Promise<void>> {
    const { inventory, factory } = this.#host
    try {
      const record = inventory.records.get(unit.name)
      return await unit.reconfigure(record === undefined ? unit.config : await factory.settings(record, services))
    } catch (error) {
      if (isSvcError(error) && error.plugin === unit.name) throw error
      const text = errorMessage(error)
      throw kernelErrors.create('KRN_SETTINGS_REFUSED', `${unit.name} rejected its new settings: ${text}`, {
        plugin: unit.name,
        cause: error,
        hint: 'the plugin keeps its previous settings'
      })
    }
  }

  /** Resets the failure counts of plugins whose requested change succeeded. */
  #settleRecords({ add }: Plan): void {
    const { records } = this.#host.inventory
    const all = this.#request.sources !== undefined
    for (const [name, record] of records) {
      if (all || this.#retry.has(name) || this.#mustSucceed.has(name)) record.refusal = null
      if (this.#clearFailures.has(name)) record.clearFailures()
      else if (add.includes(name)) record.recover()
    }
  }

  async #discardBegun(): Promise<void> {
    for (const unit of [...this.#begun.values()].reverse()) await this.#host.factory.discard(unit)
    this.#begun.clear()
  }
}
