import type { CallObserver, CallStats, OperationEntry, PluginState, UnitPage, UnitView } from '@svc/contracts'
import type { CommandHandler, DrainReason, Health, Logger, PluginManifest, ServiceId } from '@svc/plugin-sdk'
import { settlesWithin } from '@svc/plugin-sdk'
import type { CallState } from './call.ts'
import type { ServiceContainer } from './container.ts'
import type { HookSet, RegisteredTap } from './hooks.ts'
import { Lifecycle, SERVING } from './lifecycle.ts'
import type { BoundOperation, OperationOwner } from './operations.ts'
import { RunningCalls } from './running-calls.ts'
import { type DisposeReport, Scope } from './scope.ts'
import { Serving } from './serving.ts'

export interface Item {
  readonly point: string
  readonly item: unknown
  readonly keys: readonly string[]
  readonly label: string
  /** True for an item of an isolated plugin, which only points for data have. */
  readonly remote?: boolean
}

export interface HealthCheck {
  readonly label: string
  readonly check: () => Health | Promise<Health>
}

type Writable<A> = { -readonly [K in keyof A]: A[K] }

type ConfigListener = (next: unknown, previous: unknown) => void | Promise<void>

/** The part of the kernel that a unit uses. */
export interface UnitHost {
  readonly log: Logger
  /** Call statistics, shared by all units of a plugin. */
  readonly stats: Writable<CallStats>
  /** Called after every failed call of an operation. */
  failed?(unit: Unit, operation: BoundOperation, error: unknown, call: CallState): void
  /** Returns an operation of the serving generation. */
  successor?(operationId: string): OperationEntry | undefined
  /** Returns a service of the serving generation. */
  lookup?(token: ServiceId): unknown
  /** Returns the hooks of the serving generation. */
  hooks?(): HookSet
  stateChanged?(state: PluginState): void
  /** Returns the observer of all calls. */
  observer?(): CallObserver | null
  /** Masks a secret of an input in the logs. */
  mask?(secret: string): void
  /** Page modules by name. Default: none. */
  readonly pages?: ReadonlyMap<string, UnitPage>
}

const NO_PAGES: ReadonlyMap<string, UnitPage> = new Map()

export function newCallStats(): Writable<CallStats> {
  return { calls: 0, failures: 0, totalMs: 0 }
}

let instances = 0

/**
 * One instance of a plugin: its scope, its contributions and its running calls.
 *
 * Contributions do not change after activation, so a generation is a pure function of its units.
 */
export class Unit implements UnitView, OperationOwner {
  readonly name: string
  readonly version: string
  readonly instance: string
  readonly manifest: PluginManifest
  readonly pages: ReadonlyMap<string, UnitPage>
  readonly scope: Scope
  readonly lifecycle: Lifecycle
  readonly running: RunningCalls
  readonly operations = new Map<string, BoundOperation>()
  readonly services = new Map<ServiceId, unknown>()
  readonly items: Item[] = []
  readonly taps: RegisteredTap[] = []
  readonly commands = new Map<string, CommandHandler>()
  readonly healthChecks: HealthCheck[] = []
  readonly configListeners: ConfigListener[] = []
  readonly serving = new Serving()
  readonly tasks = new Map<Promise<void>, string>()
  /** Instances of units whose services this unit holds. */
  readonly providers = new Set<string>()
  /** Wait for work in the worker of an isolated unit, up to a deadline. */
  readonly drainers: ((deadlineMs: number) => Promise<unknown>)[] = []
  /** Ends the worker or process of an isolated unit; null for a unit of this process. */
  kill: ((cause: unknown) => void) | null = null
  config: unknown
  /** Generation in which the unit began to serve. */
  generation: number | null = null
  activateMs: number | null = null
  readonly #host: UnitHost
  readonly #retiring = new AbortController()
  #retired = false
  /** True after an uncaught error of the unit's code, which may have left an invalid state. */
  #suspect = false
  #drainReason: DrainReason = 'removed'
  #inFlight = 0
  readonly #idle: (() => void)[] = []
  #services: ServiceContainer | undefined

  constructor(manifest: PluginManifest, config: unknown, host: UnitHost) {
    instances += 1
    this.name = manifest.name
    this.version = manifest.version
    this.instance = `${manifest.name}#${instances}`
    this.manifest = manifest
    this.pages = host.pages ?? NO_PAGES
    this.config = config
    this.scope = new Scope(manifest.name)
    this.running = new RunningCalls(this.scope.signal)
    this.lifecycle = new Lifecycle(`plugin ${manifest.name}`, 'loading', host.stateChanged)
    this.#host = host
  }

  get state(): PluginState {
    return this.lifecycle.state
  }

  get log(): Logger {
    return this.#host.log
  }

  get stats(): CallStats {
    return this.#host.stats
  }

  get signal(): AbortSignal {
    return this.scope.signal
  }

  /** Aborted when draining begins. No new work arrives then, so idle waits may end. */
  get retiring(): AbortSignal {
    return this.#retiring.signal
  }

  get retired(): boolean {
    return this.#retired
  }

  get inFlight(): number {
    return this.#inFlight
  }

  mask(secret: string): void {
    this.#host.mask?.(secret)
  }

  enter(): void {
    this.#inFlight += 1
  }

  exit(): void {
    this.#inFlight -= 1
    if (this.#inFlight === 0 && this.#idle.length > 0) for (const resolve of this.#idle.splice(0)) resolve()
  }

  settled(operation: BoundOperation, milliseconds: number, error: unknown, call: CallState): void {
    const { stats } = this.#host
    stats.calls += 1
    stats.totalMs += milliseconds
    if (error === undefined) return
    stats.failures += 1
    this.#host.failed?.(this, operation, error, call)
  }

  /** Returns the service for a reference. A draining unit keeps the services of the generation it left. */
  lookup(token: ServiceId): unknown {
    return this.#host.lookup?.(token) ?? this.#services?.resolve(token)
  }

  get hooks(): HookSet | undefined {
    return this.#host.hooks?.()
  }

  get observer(): CallObserver | null {
    return this.#host.observer?.() ?? null
  }

  successor(operationId: string): OperationEntry | undefined {
    return this.#host.successor?.(operationId)
  }

  /** Marks the unit degraded after an uncaught error, until it is replaced. */
  suspect(): void {
    this.#suspect = true
    this.breakerChanged()
  }

  /** Updates the state: the unit is degraded while any breaker is open. */
  breakerChanged(): void {
    if (!SERVING.has(this.state)) return
    this.lifecycle.to(this.#suspect || this.openBreakers().length > 0 ? 'degraded' : 'active')
  }

  openBreakers(): string[] {
    return [...this.operations.values()].filter(each => each.breaker.open).map(each => each.descriptor.id)
  }

  /** Applies live settings. If one listener throws, the others are reverted. Returns a function that reverts all. */
  async reconfigure(next: unknown): Promise<() => Promise<void>> {
    const previous = this.config
    const notified: ConfigListener[] = []
    const undo = async (): Promise<void> => {
      this.config = previous
      for (const listener of notified.reverse()) {
        try {
          await listener(previous, next)
        } catch (error) {
          this.log.error('restoring the previous settings failed', { error })
        }
      }
    }
    this.config = next
    for (const listener of this.configListeners) {
      try {
        await listener(next, previous)
      } catch (error) {
        await undo()
        throw error
      }
      notified.push(listener)
    }
    return undo
  }

  /** Waits for running calls, up to the deadline. Resolves to true if all ended. */
  async idle(deadlineMs: number): Promise<boolean> {
    return this.#inFlight === 0 || settlesWithin(deadlineMs, this.#untilIdle())
  }

  /**
   * Stops serving: new calls go to the successor, if there is one. Users of the unit may still use it. `services`: the
   * services that the unit keeps.
   */
  leave(services?: ServiceContainer, reason?: DrainReason): void {
    this.#services ??= services
    if (reason !== undefined) this.#drainReason = reason
    this.#retired = true
    if (SERVING.has(this.state) || this.state === 'failed') this.lifecycle.to('draining')
  }

  /** Runs the `onDrain` listeners, unless they ran before. Their errors are logged. */
  async stopWork(reason: DrainReason): Promise<void> {
    await this.serving.drain(reason, error => this.log.warn('stopping its work failed', { error }))
  }

  /** Waits for listeners, calls and tasks, up to the deadline. Resolves to true if all ended. */
  async drain(deadlineMs: number): Promise<boolean> {
    this.leave()
    this.#retiring.abort()
    // Started before the worker drains, so that the worker receives the reason.
    const stopped = this.stopWork(this.#drainReason)
    const remote = this.drainers.map(each => each(deadlineMs))
    return settlesWithin(deadlineMs, Promise.allSettled([stopped, this.#untilDone(), ...remote]))
  }

  async dispose(deadlineMs: number): Promise<DisposeReport> {
    this.#retired = true
    this.#retiring.abort()
    const report = await this.scope.dispose(deadlineMs)
    this.#services = undefined
    // Values that outlive the unit refer to it. They must not keep what it registered, and thus other units.
    for (const registered of [this.services, this.operations, this.commands]) registered.clear()
    for (const registered of [this.items, this.taps, this.healthChecks, this.configListeners]) registered.length = 0
    if (this.state === 'draining') this.lifecycle.to(report.stuck.length > 0 ? 'stuck' : 'disposed')
    else if (this.state !== 'failed') this.lifecycle.to('disposed')
    return report
  }

  async #untilIdle(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>(resolve => void this.#idle.push(resolve))
  }

  /** Waits until neither calls nor tasks run. Repeats, since a call may start a task and a task may make calls. */
  async #untilDone(): Promise<void> {
    while (this.#inFlight > 0 || this.tasks.size > 0) {
      await this.#untilIdle()
      await Promise.all(this.tasks.keys())
    }
  }
}
