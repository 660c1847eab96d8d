import {
  type CallObserver,
  type ChangeReport,
  generationFlipped,
  type Invocation,
  type KernelPort,
  kernelPort,
  type PluginState,
  pluginStateChanged,
  type Surface,
  surfaces
} from '@svc/contracts'
import type { Hook, Point, ServiceId } from '@svc/plugin-sdk'
import { closest, settlesWithin } from '@svc/plugin-sdk'
import { Change, type ChangeHost, type ChangeRequest } from './change.ts'
import { kernelErrors } from './errors.ts'
import { FailurePolicy } from './failure-policy.ts'
import { diffGenerations, Generation } from './generation.ts'
import type { Graph } from './graph.ts'
import { type TapHost, undeclaredHooks } from './hooks.ts'
import { type Desired, Inventory, type PluginConfiguration } from './inventory.ts'
import { Keep } from './keep.ts'
import type { KernelLogger } from './logger.ts'
import type { PluginRecord } from './record.ts'
import { Retirement } from './retirement.ts'
import type { OwnedItem } from './serving.ts'
import type { Prepared, Shadow } from './shadow.ts'
import { TopicBoard } from './topics.ts'
import type { Unit } from './unit.ts'
import { UnitFactory } from './unit-factory.ts'
import type { UnitHosts } from './unit-host.ts'

export interface KernelOptions {
  readonly log: KernelLogger
  readonly projectRoot: string
  readonly dataRoot: string
  readonly repositoryId: string
  readonly version: string
  readonly services?: ReadonlyMap<ServiceId, unknown>
  /** Hosts for isolated plugins. Default: none, so that isolated plugins fail to activate. */
  readonly unitHosts?: UnitHosts
  /** Default time limit of a tap in milliseconds; 0: none. Default 5,000. */
  readonly tapTimeoutMs?: number
  onState?(plugin: string, state: PluginState): void
  /** Receives each change that began a generation or was refused, with its cause and duration. */
  onChange?(cause: string, ms: number, outcome: { readonly report: ChangeReport } | { readonly error: unknown }): void
  /** Handles an uncaught error of a plugin with the policy `abort-process`. Default: exit with status 70. */
  onFatal?(error: unknown): void
}

/**
 * Runs plugins in generations, with transactions between them. Independent of files, sockets and formats.
 *
 * 1. The first {@link Kernel.change} builds the first generation.
 * 2. Each later change plans, builds the shadow, flips to it, and drains units that it replaced or removed.
 * 3. {@link Kernel.close} drains and disposes all units, users before providers.
 */
export class Kernel implements KernelPort {
  readonly projectRoot: string
  readonly stateRoot: string
  readonly repositoryId: string
  readonly version: string
  readonly log: KernelLogger
  readonly topics: TopicBoard
  readonly #onChange: KernelOptions['onChange']
  readonly #builtin: Map<ServiceId, unknown>
  readonly #inventory: Inventory
  readonly #failures: FailurePolicy
  readonly #factory: UnitFactory
  readonly #retirement: Retirement
  readonly #closing = new AbortController()
  readonly #taps: TapHost
  readonly #observers: CallObserver[] = []
  #observer: CallObserver | null = null
  #current: Generation
  #graph: Graph = { order: [], edges: [], blocked: new Map() }
  #queue: Promise<unknown> = Promise.resolve()
  /** Plugins whose state changed and is not yet announced. */
  readonly #stateChanges = new Set<string>()
  #closed: Promise<void> | undefined

  constructor(options: KernelOptions) {
    this.log = options.log
    this.topics = new TopicBoard(error => this.log.error('a subscriber of a topic failed', { error }))
    this.projectRoot = options.projectRoot
    this.stateRoot = options.dataRoot
    this.repositoryId = options.repositoryId
    this.version = options.version
    this.#onChange = options.onChange
    this.#builtin = new Map([...(options.services ?? []), [kernelPort.id, this]])
    this.#taps = {
      timeoutMs: options.tapTimeoutMs ?? 5_000,
      report: (plugin, hookId, error) => this.log.forPlugin(plugin).error(`a tap on ${hookId} failed`, { error })
    }
    this.#current = new Generation(0, [], this.#builtin, this.#taps)
    this.#inventory = new Inventory(new Set(this.#builtin.keys()), this.#stateChanged)
    this.#retirement = new Retirement(this.log, name => this.configurationOf(name).policy.drainTimeoutMs)
    this.#failures = new FailurePolicy({
      log: this.log,
      inventory: this.#inventory,
      closing: this.#closing.signal,
      isBooting: () => this.#current.id === 0,
      change: request => this.change(request),
      abort: options.onFatal ?? (() => process.exit(70))
    })
    this.#factory = new UnitFactory(this.#inventory, {
      log: this.log,
      projectRoot: options.projectRoot,
      dataRoot: options.dataRoot,
      keep: new Keep(),
      closing: this.#closing.signal,
      unitHosts: options.unitHosts ?? {},
      current: () => this.#current,
      invoke: (id, input, call) => this.invoke(id, input, call),
      changed: topic => this.topics.changed(topic),
      observer: () => this.#observer,
      onState: (plugin, state) => {
        this.#stateChanged(plugin)
        options.onState?.(plugin, state)
      },
      onUncaught: (unit, error) => this.uncaught(unit, error),
      onCrash: (unit, error) => this.#failures.crashed(unit, error)
    })
  }

  observe(observer: CallObserver): () => void {
    const end = (): void => {
      const at = this.#observers.indexOf(observer)
      if (at >= 0) this.#observers.splice(at, 1)
      this.#observer = this.#observers.at(-1) ?? null
    }
    this.#observers.push(observer)
    this.#observer = observer
    return end
  }

  mask(text: string): string {
    return this.log.secrets.mask(text)
  }

  get current(): Generation {
    return this.#current
  }

  get graph(): Graph {
    return this.#graph
  }

  get records(): ReadonlyMap<string, PluginRecord> {
    return this.#inventory.records
  }

  configurationOf(name: string): PluginConfiguration {
    return this.#inventory.configurationOf(name)
  }

  async invoke(operationId: string, input: unknown, call: Invocation): Promise<unknown> {
    const entry = this.#current.operations.get(operationId)
    if (entry !== undefined) return entry.invoke(input, call)
    const near = closest(operationId, [...this.#current.operations.keys()])
    const owner = [...this.records.values()].find(({ manifest }) =>
      manifest?.operations.some(({ id }) => id === operationId)
    )
    const why = owner === undefined ? '' : `: ${owner.name} declares it and is ${owner.state}`
    const search = near === undefined ? 'svc plugins list shows the active plugins' : `did you mean ${near}?`
    throw kernelErrors.create('OPR_UNKNOWN', `no plugin offers the operation ${operationId}${why}`, {
      hint: owner === undefined ? search : `svc plugins why ${owner.name}`
    })
  }

  /** Applies a change. Changes run one at a time, in call order. A change that throws has no effect. */
  change(request: ChangeRequest): Promise<ChangeReport> {
    const turn = this.#queue.then(() => {
      this.#closing.signal.throwIfAborted()
      return this.#change(request)
    })
    this.#queue = turn.catch(() => {})
    return turn
  }

  async #change(request: ChangeRequest): Promise<ChangeReport> {
    const [begun, before] = [performance.now(), this.#current.id]
    const { cause = 'svc', dryRun } = request
    try {
      const report = await new Change(request, this.#changeHost()).run()
      if (this.#current.id !== before) this.#onChange?.(cause, performance.now() - begun, { report })
      return report
    } catch (error) {
      if (dryRun !== true && !this.#closing.signal.aborted)
        this.#onChange?.(cause, performance.now() - begun, { error })
      throw error
    }
  }

  /** Triggers a hook of the kernel without waiting for its taps. Their errors are logged. */
  announce<A extends readonly unknown[]>({ id }: Hook<A>, ...args: A): void {
    this.#current.hooks.trigger(id, args)?.catch(() => {})
  }

  /** Handles an error that no caller can receive, from a plugin's timer or listener. */
  uncaught(unit: Unit, error: unknown): void {
    this.#failures.uncaught(unit, error)
  }

  /** Drains and disposes all units. Further calls return the same promise. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  #changeHost(): ChangeHost {
    return {
      inventory: this.#inventory,
      failures: this.#failures,
      factory: this.#factory,
      builtin: this.#builtin,
      closing: this.#closing.signal,
      current: () => this.#current,
      taps: this.#taps,
      flip: (shadow, desired) => this.#flip(shadow, desired)
    }
  }

  async #close(): Promise<void> {
    // A running change that waits for a plugin is aborted.
    this.#closing.abort(kernelErrors.create('KRN_CLOSED', 'the kernel is closing; no change is accepted'))
    await this.#queue
    for (const record of this.records.values()) record.cancelRetry()
    const units = [...this.#current.units.values()]
    const timeoutOf = (unit: Unit): number => this.configurationOf(unit.name).policy.drainTimeoutMs
    // All units stop accepting external work first, while their dependencies still run.
    await Promise.all([
      ...this.#current
        .items<Surface>(surfaces)
        .map(({ item, unit }) => this.#stopWork(unit as Unit, timeoutOf, async () => item.quiesce?.())),
      ...units.map(unit => this.#stopWork(unit, timeoutOf, () => unit.stopWork('closing')))
    ])
    // Running calls may call any other plugin, so no unit is disposed before they end.
    const begun = performance.now()
    await Promise.all(units.map(unit => unit.idle(timeoutOf(unit))))
    await this.#retirement.retire(units, performance.now() - begun)
    await Promise.all([...this.records.values()].map(({ source }) => source.close()))
    this.log.flush()
  }

  async #stopWork(unit: Unit, timeoutOf: (unit: Unit) => number, stop: () => Promise<void>): Promise<void> {
    const log = this.log.forPlugin(unit.name)
    try {
      const limitMs = timeoutOf(unit)
      const quiet = await settlesWithin(limitMs, stop())
      if (!quiet) log.warn(`did not stop its work within ${limitMs} ms`)
    } catch (error) {
      log.warn('stopping its work failed', { error })
    }
  }

  /** Switches to the next generation. Synchronous, so that no call sees a mix of two generations. */
  #flip(shadow: Shadow | undefined, desired: Desired): void {
    const previous = this.#current
    this.#graph = desired.graph
    if (shadow === undefined) {
      this.#inventory.note(previous, desired)
      return
    }
    const { generation: next, fresh, prepared } = shadow
    this.#current = next
    const failed = prepared.flatMap(surface => this.#commit(surface))
    for (const unit of fresh) {
      unit.lifecycle.to('active')
      unit.generation = next.id
    }
    this.#inventory.note(next, desired)
    failed.push(...beginServing(next, fresh))
    for (const { unit, error } of failed) this.uncaught(unit, error)
    this.#announce(previous, next, fresh)
    const leaving = [...previous.units.values()].filter(unit => next.units.get(unit.name) !== unit)
    for (const unit of leaving) unit.leave(previous.services, next.units.has(unit.name) ? 'replaced' : 'removed')
    void this.#retirement.retire(leaving)
  }

  /** Commits a surface. The change can no longer fail, so the plugin's failure policy applies if the surface throws. */
  #commit({ plugin, commit }: Prepared): Failed[] {
    try {
      commit()
      return []
    } catch (error) {
      const unit = this.#current.units.get(plugin)
      return unit === undefined ? [] : [{ unit, error }]
    }
  }

  #announce(previous: Generation, next: Generation, fresh: readonly Unit[]): void {
    const diff = diffGenerations(previous.id === 0 ? undefined : previous, next)
    const { added, replaced, removed } = diff
    this.log.info(`generation ${next.id}`, { units: next.units.size, added, replaced, removed })
    const tapping = fresh.filter(({ taps }) => taps.length > 0)
    const manifests = tapping.length === 0 ? [] : [...this.records.values()].flatMap(({ manifest }) => manifest ?? [])
    for (const { name, taps } of tapping) {
      for (const id of undeclaredHooks(taps, manifests))
        this.log.forPlugin(name).warn(`this plugin taps the hook ${id}, which no known plugin declares`)
    }
    this.announce(generationFlipped, diff)
  }

  /** Announces state changes after this turn of the event loop, since a flip is synchronous. */
  readonly #stateChanged = (plugin: string): void => {
    if (this.#stateChanges.has(plugin)) return
    this.#stateChanges.add(plugin)
    queueMicrotask(() => {
      this.#stateChanges.delete(plugin)
      this.topics.changed('kernel.plugins')
      if (!this.#current.hooks.has(pluginStateChanged.id)) return
      const record = this.records.get(plugin)
      if (record !== undefined) this.announce(pluginStateChanged, { plugin, state: record.state, why: record.why })
    })
  }
}

interface Failed {
  readonly unit: Unit
  readonly error: unknown
}

/** Calls the listeners that units registered for the flip. Returns their errors, since the flip can no longer fail. */
function beginServing(next: Generation, fresh: readonly Unit[]): Failed[] {
  const failed = (unit: Unit, errors: readonly unknown[]): Failed[] => errors.map(error => ({ unit, error }))
  const itemsAt = (point: Point): OwnedItem[] =>
    next.items(point).map(({ item, unit }) => ({ item, plugin: unit.name }))
  return [
    ...[...next.units.values()].flatMap(unit => failed(unit, unit.serving.follow(itemsAt))),
    ...fresh.flatMap(unit => failed(unit, unit.serving.begin()))
  ]
}
