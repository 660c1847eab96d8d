import type { CallObserver, Deferred, Invocation, ObservedCall } from '@svc/contracts'
import {
  type Call,
  defined,
  type LocalSpan,
  type Logger,
  newSpanNumber,
  type OperationDescriptor,
  type Principal,
  parseTraceparent,
  requestIdOf,
  SvcError,
  spanIdOf,
  type TraceContext,
  traceIdOf,
  withFields
} from '@svc/plugin-sdk'
import { kernelErrors } from './errors.ts'
import type { RunningCall, RunningCalls } from './running-calls.ts'

/** The part of the called unit that a call uses. */
export interface CallOwner {
  readonly name: string
  readonly log: Logger
  readonly running: RunningCalls
  /** Observer of all calls; null if there is none, and in the worker of an isolated unit. */
  readonly observer: CallObserver | null
}

/** Span of the caller: in this process, or that of a `traceparent`, which does not name the request. */
type Caller = Pick<LocalSpan, 'traceRoot' | 'sampled'> & {
  readonly spanNumber: number | string
  readonly requestName?: number | string
}

function callerOf(sent: Required<TraceContext> | undefined): Caller | null {
  return sent === undefined ? null : { traceRoot: sent.traceId, spanNumber: sent.spanId, sampled: sent.sampled }
}

/** Receives the outcome of a {@link CallState.race}. Not called after the end of the call. Neither method may throw. */
export interface RaceCallbacks<A> {
  onResult(call: CallState, outcome: A): void
  /** `error`: that of the work, `OPR_CANCELLED` or `OPR_TIMEOUT`. */
  onError(call: CallState, error: unknown): void
}

/**
 * The call context of a handler. Signal, ids and the entry in the running calls are created on first use, since most
 * calls need none of them.
 */
export class CallState implements Call, RunningCall, ObservedCall {
  readonly #descriptor: OperationDescriptor
  readonly #owner: CallOwner
  readonly #invocation: Invocation
  /** Start time in milliseconds, on the clock of `performance.now()`. */
  readonly started: number
  /** Promise of the caller. */
  readonly deferred: Deferred
  #deadline: number | undefined
  readonly spanNumber = newSpanNumber()
  /** Undefined: not parsed yet. Null: the call starts a trace. */
  #caller: Caller | null | undefined
  #traceId: string | undefined
  #sampled: boolean | undefined
  #spanId: string | undefined
  #requestId: string | undefined
  #log: Logger | undefined
  #controller: AbortController | undefined
  /** Reason for which the call ended before its handler. */
  #abortReason: SvcError | undefined
  #rejectRace: ((reason: SvcError) => void) | undefined
  #enlisted = false
  #ended = false

  constructor(descriptor: OperationDescriptor, owner: CallOwner, invocation: Invocation, deferred: Deferred) {
    this.#descriptor = descriptor
    this.#owner = owner
    this.#invocation = invocation
    this.started = invocation.since ?? performance.now()
    this.deferred = deferred
  }

  /** Timeout in milliseconds; Infinity if there is none. */
  get #limitMs(): number {
    return Math.min(limit(this.#descriptor.timeoutMs), limit(this.#invocation.timeoutMs))
  }

  get expiresAt(): number {
    return this.started + this.#limitMs
  }

  get surface(): string {
    return this.#invocation.surface
  }

  get principal(): Principal {
    return this.#invocation.principal
  }

  get deadline(): number {
    const { expiresAt } = this
    if (expiresAt === Infinity) return Infinity
    return (this.#deadline ??= Math.round(Date.now() + expiresAt - performance.now()))
  }

  get traceId(): string {
    return (this.#traceId ??= traceIdOf(this.traceRoot))
  }

  get spanId(): string {
    return (this.#spanId ??= spanIdOf(this.spanNumber))
  }

  get requestId(): string {
    return (this.#requestId ??= requestIdOf(this.requestName))
  }

  /** Span id of the caller; null if the call starts a trace. */
  get parentSpanId(): string | null {
    const { parentSpan } = this
    return parentSpan === null ? null : spanIdOf(parentSpan)
  }

  get traceRoot(): number | string {
    return this.#from()?.traceRoot ?? this.spanNumber
  }

  get parentSpan(): number | string | null {
    return this.#from()?.spanNumber ?? null
  }

  get requestName(): number | string {
    return this.#from()?.requestName ?? this.#invocation.requestId ?? this.spanNumber
  }

  get sampled(): boolean {
    if (this.#sampled !== undefined) return this.#sampled
    const caller = this.#from()
    return (this.#sampled = caller === null ? (this.#owner.observer?.sample() ?? false) : caller.sampled)
  }

  /** Span of the caller; null if the call starts a trace. */
  #from(): Caller | null {
    if (this.#caller !== undefined) return this.#caller
    const { trace, traceparent } = this.#invocation
    return (this.#caller = trace ?? callerOf(parseTraceparent(traceparent)))
  }

  get log(): Logger {
    return (this.#log ??= withFields(this.#owner.log, {
      operation: this.#descriptor.id,
      surface: this.surface,
      request_id: this.requestId,
      trace_id: this.traceId
    }))
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#ended) this.#abortReason ??= this.#cancelledError('has already ended')
      else this.#enlist()
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason)
    }
    return this.#controller.signal
  }

  /** True if the caller disconnected or cancelled, or the unit is disposed. */
  get cancelled(): boolean {
    // `cancelled` avoids the signal if the surface has it: creating a signal costs more than the rest of a call.
    const invocation = this.#invocation
    return this.#owner.running.closed || (invocation.cancelled ?? invocation.signal?.aborted ?? false)
  }

  /** Throws `OPR_CANCELLED` if the call is already cancelled. */
  assertNotCancelled(): void {
    if (this.cancelled) throw (this.#abortReason ??= this.#cancelledError())
  }

  /** Waits until the work settles, the caller cancels or the deadline passes. */
  race<A>(work: PromiseLike<A>, callbacks: RaceCallbacks<A>): void {
    const reject = (error: unknown): void => {
      if (!this.#ended) callbacks.onError(this, error)
    }
    // `resolve` catches errors of a custom thenable's `then`, and returns a promise unchanged.
    Promise.resolve(work).then(outcome => {
      if (!this.#ended) callbacks.onResult(this, outcome)
    }, reject)
    this.#rejectRace = reject
    if (this.#abortReason !== undefined) reject(this.#abortReason)
    else if (!this.#enlisted) enlistLater(this)
  }

  /**
   * Called after the event-loop turn in which the call started. If it still runs, its deadline and cancellation apply.
   */
  onTurnEnd(): void {
    if (this.#ended) return
    this.#enlist()
    if (this.#abortReason !== undefined) this.#rejectRace?.(this.#abortReason)
  }

  fail(code: string, message?: string, data?: unknown): never {
    const spec = this.#descriptor.errors[code]
    if (spec === undefined) throw new Error(`${this.#descriptor.id} does not declare the error ${code}`)
    throw new SvcError(code, message ?? spec.message, { status: spec.status ?? 422, ...defined({ data }) })
  }

  emit(event: unknown): void {
    const { onEvent } = this.#invocation
    if (onEvent !== undefined) this.#notify(() => this.#invocation.onEvent?.(event))
  }

  progress(done: number, total?: number, message?: string): void {
    const { onProgress } = this.#invocation
    if (onProgress !== undefined) this.#notify(() => this.#invocation.onProgress?.(done, total, message))
  }

  expire(): void {
    const { id } = this.#descriptor
    const details = { plugin: this.#owner.name, data: { timeoutMs: this.#limitMs } }
    this.#abort(kernelErrors.create('OPR_TIMEOUT', `${id} did not finish within ${this.#limitMs} ms`, details))
  }

  cancel(): void {
    this.#abort(this.#cancelledError())
  }

  /** Handles the `abort` event of the caller's signal. */
  handleEvent(): void {
    this.cancel()
  }

  end(): void {
    this.#ended = true
    this.#rejectRace = undefined
    if (!this.#enlisted) return
    this.#owner.running.delete(this)
    this.#invocation.signal?.removeEventListener('abort', this)
  }

  /** Adds the call to the running calls, and listens to the caller's signal. */
  #enlist(): void {
    if (this.#enlisted) return
    this.#enlisted = true
    const { running } = this.#owner
    const { signal } = this.#invocation
    if (running.closed || signal?.aborted === true) {
      this.#abortReason ??= this.#cancelledError()
      return
    }
    running.add(this)
    signal?.addEventListener('abort', this)
  }

  #abort(reason: SvcError): void {
    if (this.#ended || this.#abortReason !== undefined) return
    this.#abortReason = reason
    this.#controller?.abort(reason)
    this.#rejectRace?.(reason)
  }

  /** Calls a listener of the caller. If it throws, the call is cancelled; that is no fault of the handler. */
  #notify(listener: () => void): void {
    if (this.#ended || this.#abortReason !== undefined) return
    try {
      listener()
    } catch (cause) {
      this.#abort(this.#cancelledError('was cancelled: a listener of its caller threw an error', cause))
    }
  }

  #cancelledError(how = 'was cancelled', cause?: unknown): SvcError {
    return kernelErrors.create('OPR_CANCELLED', `${this.#descriptor.id} ${how}`, defined({ cause }))
  }
}

let startedCalls: CallState[] = []

/**
 * Enlists a call after the current turn of the event loop. Most calls end within that turn and need neither a deadline
 * nor a listener for cancellation.
 */
function enlistLater(call: CallState): void {
  if (startedCalls.push(call) > 1) return
  setImmediate(() => {
    const calls = startedCalls
    startedCalls = []
    for (const each of calls) each.onTurnEnd()
  })
}

/** Returns a timeout, or Infinity for undefined, 0 and NaN. */
function limit(milliseconds: number | undefined): number {
  return milliseconds !== undefined && milliseconds > 0 ? milliseconds : Infinity
}
