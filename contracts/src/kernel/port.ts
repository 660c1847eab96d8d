import {
  type Call,
  type LocalSpan,
  type OperationDescriptor,
  type Point,
  type Principal,
  point,
  service
} from '@svc/plugin-sdk'
import type { PluginState } from './admin.ts'

/** Kernel API for surfaces: the current generation, and the single entry point to every handler. */
export const kernelPort = service<KernelPort>('kernel.port@1')

export interface KernelPort {
  /** The generation that serves now. */
  readonly current: GenerationView
  /** Identity of the project: `SVC_REPOSITORY_ID`, else a name derived from the project's root. */
  readonly repositoryId: string
  readonly projectRoot: string
  /** Folder of the project's state; plugins use its subfolder `plugins`. May not exist yet. */
  readonly stateRoot: string
  readonly version: string
  readonly topics: Topics
  /**
   * Registers an observer of all calls of operations, which replaces an earlier one until the returned function is
   * called. Cheaper than a tap of `kernel.operation-ended`, for a plugin that records every call.
   */
  observe(observer: CallObserver): () => void
  /** Returns the text with every known secret replaced by `***`, as in the log. For texts that are stored or shown. */
  mask(text: string): string
  /**
   * Validates the input, authorises the caller, runs the handler and validates the output. Throws `OPR_UNKNOWN`,
   * `OPR_INPUT_INVALID`, `OPR_FORBIDDEN`, `OPR_TIMEOUT`, `OPR_CANCELLED`, `OPR_UNAVAILABLE` (breaker open),
   * `OPR_FAILED` (the handler's error has no code), a code that the operation declares, or the code of an error from a
   * nested call.
   */
  invoke(operationId: string, input: unknown, call: Invocation): Promise<unknown>
}

/** Topics that plugins announce with `changed`, over all generations. */
export interface Topics {
  /** Number of changes of a topic; 0 if it was never announced. */
  version(topic: string): number
  /** Whether a subscription for the topic exists. */
  watched(topic: string): boolean
  /**
   * Calls `wake` after each change of one of the topics, synchronously; it must return quickly. Returns the function that
   * ends it.
   */
  subscribe(topics: readonly string[], wake: (topic: string) => void): () => void
}

/** Observes calls of operations. No method may throw. */
export interface CallObserver {
  /** Called after each call, before its caller receives the outcome. `error`: undefined after a success. */
  ended(call: ObservedCall, operation: OperationDescriptor, plugin: string, ms: number, error: unknown): void
  /** Returns whether the details of a new trace are recorded. */
  sample(): boolean
  /** Runs the handler of a call whose details are recorded; see {@link LocalSpan.sampled}. */
  within<A>(call: ObservedCall, run: () => A): A
}

/** A call. Readers of its ids take those of {@link LocalSpan}, which are cheaper. */
export type ObservedCall = LocalSpan & Pick<Call, 'surface'>

/** Call data from a surface. */
export interface Invocation {
  /** `http`, `mcp`, `rpc`, `cli`, `internal`, or the name of another surface. */
  readonly surface: string
  readonly principal: Principal
  readonly requestId?: string
  /** W3C `traceparent` of the caller, if it sent one; otherwise a new trace starts. */
  readonly traceparent?: string
  /** Span of the caller in this process, instead of `traceparent`. */
  readonly trace?: LocalSpan
  readonly signal?: AbortSignal
  /**
   * Whether the caller has disconnected, for a surface that creates its signal lazily. Default: the signal is checked.
   */
  readonly cancelled?: boolean
  /** When the input was complete, in milliseconds of `performance.now()`; default: now. */
  readonly since?: number
  /** Time limit in milliseconds; 0: only the operation's own limit applies. */
  readonly timeoutMs?: number
  /** Whether strings are converted to numbers and booleans, for query strings and command-line flags. */
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
  /** Id of the plugin instance: a new value for each activation. */
  readonly instance: string
  readonly state: PluginState
  /** Number of calls, hook taps and other work in flight. */
  readonly inFlight: number
  /** Statistics of this plugin since the start of the process, over all its instances. */
  readonly stats: CallStats
  /** Page modules of the console, by their names in `svc.pages` of the plugin's package.json. */
  readonly pages: ReadonlyMap<string, UnitPage>
  /** Counts work in flight outside operations, such as a raw HTTP request. Every `enter` needs one `exit`. */
  enter(): void
  exit(): void
}

/** Topic that is announced after files of a loaded page module changed: {@link UnitPage.load} may return another text. */
export const pagesTopic = 'kernel.pages'

/** Page module: an ES module for browsers without imports, which exports `mount`. */
export interface UnitPage {
  readonly name: string
  /**
   * Returns the current module. Reads or compiles it on first use and after its files changed, so that a start does not
   * wait for pages. Concurrent calls share the work. Rejects with `LDR_BUILD_FAILED`, `LDR_ENTRY_INVALID` or
   * `LDR_ESBUILD_MISSING`; the message begins with `page NAME:` and the error is then one of the plugin's findings.
   */
  load(): Promise<PageModule>
}

export interface PageModule {
  readonly text: string
  /** SHA-256 of the text in UTF-8, as 64 hex digits. */
  readonly hash: string
}

export interface CallStats {
  readonly calls: number
  /** Calls that ended with an error, including errors of the caller. */
  readonly failures: number
  /** Total milliseconds of all calls, waiting included. */
  readonly totalMs: number
}

export interface OperationEntry {
  readonly descriptor: OperationDescriptor
  readonly unit: UnitView
  /** Like {@link KernelPort.invoke}, bound to this generation's unit; once that is replaced, to its successor. */
  invoke(input: unknown, call: Invocation): Promise<unknown>
  /** Like `invoke`, with callbacks instead of a promise, for surfaces where promises are too slow. Never throws. */
  start(input: unknown, call: Invocation, deferred: Deferred): void
}

/** Callbacks for the outcome of a call. One of them is called once, during `start` or later. Neither may throw. */
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
 * Surfaces take part in every change of generation:
 *
 * 1. `prepare(next)` builds the surface's next state without serving it. If it throws, or exceeds the plugin's
 *    activation time limit, the whole change is abandoned.
 * 2. `commit` runs inside the synchronous flip: it only swaps a pointer and never throws. Or `abort` runs, if another
 *    participant failed.
 */
export const surfaces = point<Surface>('kernel.surface')

export interface Surface {
  prepare(next: GenerationView): PreparedSurface | Promise<PreparedSurface>
  /** Called first when the kernel closes: accepts no new work, and settles when running work has ended. */
  quiesce?(): Promise<void>
}

export interface PreparedSurface {
  commit(): void
  abort(): void
}
