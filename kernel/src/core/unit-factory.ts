import type { CallObserver, Invocation, PluginState } from '@svc/contracts'
import { defined, isSvcError, raceAbort } from '@svc/plugin-sdk'
import { secretsIn } from '@svc/plugin-sdk/check'
import { type ActivationHost, activationError, inProcess, secretLookup, type UnitPolicy } from './activate.ts'
import type { CallState } from './call.ts'
import type { ServiceContainer } from './container.ts'
import { kernelErrors } from './errors.ts'
import type { Generation } from './generation.ts'
import type { Inventory } from './inventory.ts'
import type { KernelLogger } from './logger.ts'
import { type BoundOperation, PLUGIN_PRINCIPAL } from './operations.ts'
import type { PluginRecord } from './record.ts'
import { Unit } from './unit.ts'
import type { UnitHost, UnitHosts } from './unit-host.ts'

/** The part of the kernel that units use. */
export interface FactoryHost
  extends Pick<ActivationHost, 'keep' | 'projectRoot' | 'dataRoot' | 'onUncaught' | 'onCrash'> {
  readonly log: KernelLogger
  readonly unitHosts: UnitHosts
  /** Aborted when the kernel closes; cancels long activations. */
  readonly closing: AbortSignal
  /** Returns the serving generation. */
  current(): Generation
  invoke(operationId: string, input: unknown, call: Invocation): Promise<unknown>
  changed(topic: string): void
  /** Returns the observer of all calls. */
  observer(): CallObserver | null
  onState: ((plugin: string, state: PluginState) => void) | undefined
}

/** Creates and activates units, and disposes those that fail. */
export class UnitFactory {
  readonly #inventory: Inventory
  readonly #host: FactoryHost

  constructor(inventory: Inventory, host: FactoryHost) {
    this.#inventory = inventory
    this.#host = host
  }

  /**
   * Activates a unit. `draft`: services of the units activated so far. On failure, disposes the unit and throws the
   * error with the plugin's name.
   */
  async activate(name: string, draft: ServiceContainer): Promise<Unit> {
    const { closing, log } = this.#host
    let unit: Unit | undefined
    try {
      const made = await this.#make(name, draft)
      unit = made
      const started = performance.now()
      await raceAbort(closing, this.#run(made, draft))
      unit.activateMs = performance.now() - started
      return unit
    } catch (error) {
      if (unit !== undefined) await this.discard(unit)
      throw activationError(name, error, text => log.secrets.mask(text))
    }
  }

  async discard(unit: Unit): Promise<void> {
    const report = await unit.dispose(this.#inventory.configurationOf(unit.name).policy.drainTimeoutMs)
    const log = this.#host.log.forPlugin(unit.name)
    for (const error of report.errors) log.warn('a disposer failed', { error })
    for (const label of report.stuck) log.error(`disposer "${label}" did not settle and was abandoned`)
  }

  /** Returns the settings of a plugin with secrets resolved. From then on the secrets are masked in logs. */
  async settings(record: PluginRecord, services: ServiceContainer): Promise<unknown> {
    const { secrets } = this.#host.log
    const resolve = secretLookup(services)
    const settings = await this.#inventory.configurationOf(record.name).settings(async reference => {
      const secret = await resolve(reference)
      secrets.add(secret)
      return secret
    })
    for (const secret of secretsIn(record.manifest?.config ?? {}, settings)) secrets.add(secret)
    return settings
  }

  async #make(name: string, draft: ServiceContainer): Promise<Unit> {
    const { log, current, observer, onState } = this.#host
    const record = this.#record(name)
    const { manifest, pages } = record.code ?? {}
    if (manifest === undefined) throw new Error(`${name} has no code`)
    return new Unit(manifest, await this.settings(record, draft), {
      log: log.forPlugin(name),
      stats: record.stats,
      failed: this.#failed,
      successor: id => current().operations.get(id),
      hooks: () => current().hooks,
      observer,
      lookup: token => current().services.resolve(token),
      stateChanged: state => onState?.(name, state),
      mask: secret => log.secrets.addFromInput(secret),
      ...defined({ pages })
    })
  }

  async #run(unit: Unit, draft: ServiceContainer): Promise<void> {
    const { keep, projectRoot, dataRoot, current, invoke, changed, onUncaught, onCrash } = this.#host
    const { code, source } = this.#record(unit.name)
    if (code === null) throw new Error(`${unit.name} has no code`)
    const { policy } = this.#inventory.configurationOf(unit.name)
    const host: ActivationHost = {
      keep,
      projectRoot,
      dataRoot,
      draft,
      log: unit.log,
      invoke: (id, input, { caller, ...call }) =>
        invoke(id, input, { surface: 'internal', principal: pluginPrincipal(caller), ...call }),
      trigger: (id, args) => current().hooks.trigger(id, args),
      isTapped: id => current().hooks.has(id),
      changed,
      onUncaught,
      onCrash
    }
    await this.#unitHost(unit.name, policy.isolation).activate(unit, code, source.location, policy, host)
    // Functions of the unit refer to the host. It must not keep the providers of this generation, which may be replaced.
    host.draft = null
  }

  #unitHost(name: string, kind: UnitPolicy['isolation']): UnitHost {
    const found = kind === 'in-process' ? inProcess : this.#host.unitHosts[kind]
    if (found !== undefined) return found
    throw kernelErrors.create(
      'KRN_NOT_REMOTABLE',
      `${name} cannot run in a ${kind}: this kernel does not support that isolation`,
      {
        plugin: name,
        hint: `remove plugins.${name}.isolation`
      }
    )
  }

  #record(name: string): PluginRecord {
    const record = this.#inventory.records.get(name)
    if (record === undefined) throw new Error(`${name} is not known`)
    return record
  }

  /** Logs errors of calls that the caller does not see in full or cannot fix. */
  readonly #failed = (unit: Unit, operation: BoundOperation, error: unknown, call: CallState): void => {
    if (!isSvcError(error) || !LOGGED.has(error.code)) return
    unit.log.error(error.message, {
      operation: operation.descriptor.id,
      surface: call.surface,
      request_id: call.requestId,
      trace_id: call.traceId,
      error
    })
  }
}

const LOGGED: ReadonlySet<string> = new Set(['OPR_FAILED', 'OPR_OUTPUT_INVALID', 'OPR_TIMEOUT'])

function pluginPrincipal(name: string): Invocation['principal'] {
  return { id: PLUGIN_PRINCIPAL + name, role: 'plugin', scopes: ['*'] }
}
