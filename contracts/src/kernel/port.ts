import { type OperationDescriptor, type Point, type Principal, point, service } from '@svc/plugin-sdk'
import type { PluginState } from './admin.ts'

/** Services of the kernel for surfaces: the generation that serves now and the single entry to every handler. */
export const kernelPort = service<KernelPort>('kernel.port@1')

export interface KernelPort {
  /** The generation that serves now. */
  readonly current: GenerationView
  /** Identity of the project: `SVC_REPOSITORY_ID`, else a name derived from the project's root. */
  readonly repositoryId: string
  readonly projectRoot: string
  /** Folder of the project's state, with that of plugins in its folder `plugins`. It may not exist. */
  readonly stateRoot: string
  readonly version: string
  /**
   * Validates, authorises, runs and validates again. Throws `OPR_UNKNOWN`, `OPR_INPUT_INVALID`, `OPR_FORBIDDEN`,
   * `OPR_TIMEOUT`, `OPR_CANCELLED`, `OPR_UNAVAILABLE` (breaker open), `OPR_FAILED` (the handler threw something without
   * a code), a code that the operation declares, or the code of an error that the handler received from another call.
   */
  invoke(operationId: string, input: unknown, call: Invocation): Promise<unknown>
}

/** Call data from a surface. */
export interface Invocation {
  /** `http`, `mcp`, `rpc`, `cli`, `internal`, or the name of another surface. */
  readonly surface: string
  readonly principal: Principal
  readonly requestId?: string
  /** W3C `traceparent` of the caller, if it sent one; otherwise a new trace starts. */
  readonly traceparent?: string
  readonly signal?: AbortSignal
  /** Whether the caller has left already; for a surface that makes its signal on first use. Without it the signal is checked. */
  readonly cancelled?: boolean
  /** When its input was complete, on the clock of `performance.now()`; for a surface that has looked at it already. */
  readonly since?: number
  /** Milliseconds; 0 for only the operation's limit. */
  readonly timeoutMs?: number
  /** Whether strings may become numbers and booleans: query strings and flags. */
  readonly coerce?: boolean
  readonly onEvent?: (event: unknown) => void
  readonly onProgress?: (done: number, total?: number, message?: string) => void
}

/** An immutable snapshot of everything that is registered. */
export interface GenerationView {
  /** Counts up from 1 with every flip. */
  readonly id: number
  readonly units: ReadonlyMap<string, UnitView>
  readonly operations: ReadonlyMap<string, OperationEntry>
  items<A>(at: Point<A>): readonly Contribution<A>[]
}

export interface UnitView {
  readonly name: string
  readonly version: string
  /** Identifies an instance of a plugin: a new value for every activation. */
  readonly instance: string
  readonly state: PluginState
  /** Calls, hook taps and other work under way. */
  readonly inFlight: number
  /** Of this plugin since the start of the process, over all its instances. */
  readonly stats: CallStats
  /** Counts work in flight outside operations, such as a raw HTTP request. Every `enter` needs one `exit`. */
  enter(): void
  exit(): void
}

export interface CallStats {
  readonly calls: number
  /** Calls that ended with an error, including errors of the caller. */
  readonly failures: number
  /** Milliseconds of all calls together, waiting included. */
  readonly totalMs: number
}

export interface OperationEntry {
  readonly descriptor: OperationDescriptor
  readonly unit: UnitView
  /** As {@link KernelPort.invoke}, bound to this generation's unit. Once that is replaced, its successor answers. */
  invoke(input: unknown, call: Invocation): Promise<unknown>
  /** The same without a promise, for a surface with so many calls that promises are too slow. Never throws. */
  start(input: unknown, call: Invocation, deferred: Deferred): void
}

/** Receives the single outcome of a call, during `start` or later. Neither function may throw. */
export interface Deferred {
  resolve(output: unknown): void
  reject(error: unknown): void
}

export interface Contribution<A> {
  readonly item: A
  readonly unit: UnitView
  readonly label: string
}

/**
 * A surface takes part in every change of generation: 1. `prepare(next)` builds what the surface needs, in the shadow;
 * a throw refuses the whole change, as does exceeding the plugin's activation limit. 2. `commit` runs inside the
 * synchronous flip: it only swaps a pointer and never throws.
 * 3. or `abort`, when another participant refused.
 */
export const surfaces = point<Surface>('kernel.surface')

export interface Surface {
  prepare(next: GenerationView): PreparedSurface | Promise<PreparedSurface>
  /** First step when the kernel closes: take no new work, and settle when running work has ended. */
  quiesce?(): Promise<void>
}

export interface PreparedSurface {
  commit(): void
  abort(): void
}
