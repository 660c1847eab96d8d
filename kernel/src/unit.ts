import type { PluginState, UnitView } from '@svc/contracts'
import type { CommandHandler, Health, PluginManifest, ServiceId } from '@svc/plugin-sdk'
import type { RegisteredTap } from './hooks.ts'
import { Lifecycle } from './lifecycle.ts'
import type { BoundOperation, CallState, OperationOwner } from './operations.ts'
import { type DisposeReport, Scope, settleBefore } from './scope.ts'

export interface Item {
  readonly point: string
  readonly item: unknown
  readonly keys: readonly string[]
  readonly label: string
}

export interface HealthCheck {
  readonly label: string
  readonly check: () => Health | Promise<Health>
}

export interface UnitStats {
  calls: number
  failures: number
  totalMs: number
}

type ConfigListener = (next: unknown, previous: unknown) => void | Promise<void>

/** Called after every operation call; the kernel logs and measures there. */
export type OnSettled = (
  unit: Unit,
  operation: BoundOperation,
  milliseconds: number,
  error: unknown,
  call: CallState
) => void

let instances = 0

/**
 * One instance of a plugin: its scope, everything it contributes, and how many calls are in flight.
 *
 * A unit never changes what it contributes after activation, so that a generation is a pure function of its units.
 */
export class Unit implements UnitView, OperationOwner {
  readonly name: string
  readonly version: string
  readonly instance: string
  readonly manifest: PluginManifest
  readonly scope: Scope
  readonly lifecycle: Lifecycle
  readonly operations = new Map<string, BoundOperation>()
  readonly services = new Map<ServiceId, unknown>()
  readonly items: Item[] = []
  readonly taps: RegisteredTap[] = []
  readonly commands = new Map<string, CommandHandler>()
  readonly healthChecks: HealthCheck[] = []
  readonly configListeners: ConfigListener[] = []
  readonly tasks = new Map<Promise<void>, string>()
  /** Waits for work that this side cannot see. */
  readonly drainers: ((deadlineMs: number) => Promise<unknown>)[] = []
  /** Ends the worker or process of an isolated unit; null for a unit of this process. */
  kill: ((cause: unknown) => void) | null = null
  readonly stats: UnitStats = { calls: 0, failures: 0, totalMs: 0 }
  config: unknown
  /** Generation in which it began to serve. */
  generation: number | null = null
  activateMs: number | null = null
  readonly #onSettled: OnSettled
  readonly #retiring = new AbortController()
  #inFlight = 0
  #idle: (() => void) | undefined

  constructor(manifest: PluginManifest, config: unknown, onSettled: OnSettled, onState?: (state: PluginState) => void) {
    instances += 1
    this.name = manifest.name
    this.version = manifest.version
    this.instance = `${manifest.name}#${instances}`
    this.manifest = manifest
    this.config = config
    this.scope = new Scope(manifest.name)
    this.lifecycle = new Lifecycle(`plugin ${manifest.name}`, 'loading', onState)
    this.#onSettled = onSettled
  }

  get state(): PluginState {
    return this.lifecycle.state
  }

  get signal(): AbortSignal {
    return this.scope.signal
  }

  /** Aborted when draining begins: nothing new will come, so what only waits may end. */
  get retiring(): AbortSignal {
    return this.#retiring.signal
  }

  get inFlight(): number {
    return this.#inFlight
  }

  enter(): void {
    this.#inFlight += 1
  }

  exit(): void {
    this.#inFlight -= 1
    if (this.#inFlight === 0) this.#idle?.()
  }

  settled(operation: BoundOperation, milliseconds: number, error: unknown, call: CallState): void {
    this.stats.calls += 1
    this.stats.totalMs += milliseconds
    if (error !== undefined) this.stats.failures += 1
    this.#onSettled(this, operation, milliseconds, error, call)
  }

  /** Degraded while any breaker is open. */
  breakerChanged(): void {
    if (this.state !== 'active' && this.state !== 'degraded') return
    this.lifecycle.to(this.openBreakers().length > 0 ? 'degraded' : 'active')
  }

  openBreakers(): string[] {
    return [...this.operations.values()].filter(each => each.breaker.open).map(each => each.descriptor.id)
  }

  /** Live settings: every listener accepts, or none has seen the change. */
  async reconfigure(next: unknown): Promise<void> {
    const previous = this.config
    const told: ConfigListener[] = []
    this.config = next
    try {
      for (const listener of this.configListeners) {
        told.push(listener)
        await listener(next, previous)
      }
    } catch (error) {
      this.config = previous
      for (const listener of told.slice(0, -1)) await listener(previous, next)
      throw error
    }
  }

  /** Waits for calls and tasks, up to the deadline. True when everything ended by itself. */
  async drain(deadlineMs: number): Promise<boolean> {
    this.#retiring.abort()
    if (this.state === 'active' || this.state === 'degraded' || this.state === 'failed') this.lifecycle.to('draining')
    const idle = this.#inFlight === 0 ? Promise.resolve() : new Promise<void>(resolve => (this.#idle = resolve))
    const remote = this.drainers.map(each => each(deadlineMs))
    return settleBefore(Promise.all([idle, ...this.tasks.keys(), ...remote]), deadlineMs)
  }

  async dispose(deadlineMs: number): Promise<DisposeReport> {
    this.#retiring.abort()
    const report = await this.scope.dispose(deadlineMs)
    if (this.state === 'draining') this.lifecycle.to(report.stuck.length > 0 ? 'stuck' : 'disposed')
    else if (this.state !== 'failed') this.lifecycle.to('disposed')
    return report
  }
}
