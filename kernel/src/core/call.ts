import type { Deferred, Invocation } from '@svc/contracts'
import {
  type Call,
  defined,
  type Logger,
  type OperationDescriptor,
  type Principal,
  parseTraceparent,
  randomHex,
  SvcError
} from '@svc/plugin-sdk'
import { kernelErrors } from './errors.ts'
import type { RunningCall, RunningCalls } from './running-calls.ts'

/** The part of the answering unit that a call uses. */
export interface CallOwner {
  readonly name: string
  readonly log: Logger
  readonly running: RunningCalls
}

/** Receives the result of a {@link CallState.race}, and nothing after the end of the call. Neither may throw. */
export interface Contest<A> {
  won(call: CallState, outcome: A): void
  /** Rejects with the error of the work, or because the caller left or the deadline passed. */
  lost(call: CallState, error: unknown): void
}

/**
 * One call as the handler sees it. Its signal, its ids and its entry among the running calls are created on first use:
 * most calls need none of them.
 */
export class CallState implements Call, RunningCall {
  readonly #descriptor: OperationDescriptor
  readonly #owner: CallOwner
  readonly #invocation: Invocation
  /** Milliseconds on the clock of `performance.now()`. */
  readonly started: number
  /** Promise of the caller. */
  readonly deferred: Deferred
  #deadline: number | undefined
  #traceId: string | undefined
  #spanId: string | undefined
  #requestId: string | undefined
  #log: Logger | undefined
  #controller: AbortController | undefined
  /** Why it ended before its handler did. */
  #verdict: SvcError | undefined
  #lose: ((verdict: SvcError) => void) | undefined
  #enlisted = false
  #ended = false

  constructor(descriptor: OperationDescriptor, owner: CallOwner, invocation: Invocation, deferred: Deferred) {
    this.#descriptor = descriptor
    this.#owner = owner
    this.#invocation = invocation
    this.started = invocation.since ?? performance.now()
    this.deferred = deferred
  }

  /** Infinity for none. */
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
    return (this.#traceId ??= parseTraceparent(this.#invocation.traceparent)?.traceId ?? randomHex(16))
  }

  get spanId(): string {
    return (this.#spanId ??= randomHex(8))
  }

  /** Step of the trace that made the call; null if it starts one. */
  get parentSpanId(): string | null {
    return parseTraceparent(this.#invocation.traceparent)?.spanId ?? null
  }

  get requestId(): string {
    return (this.#requestId ??= this.#invocation.requestId ?? randomHex(8))
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
      if (this.#ended) this.#verdict ??= this.#cancelledError('is over')
      else this.#enlist()
      if (this.#verdict !== undefined) this.#controller.abort(this.#verdict)
    }
    return this.#controller.signal
  }

  /** Whether its caller has left, or its unit is disposed. */
  get cancelled(): boolean {
    // A surface with `cancelled` creates its signal on the first read, since that costs more than the rest of a call.
    const invocation = this.#invocation
    return this.#owner.running.closed || (invocation.cancelled ?? invocation.signal?.aborted ?? false)
  }

  /** Throws if the caller has already cancelled. */
  assertWanted(): void {
    if (this.cancelled) throw (this.#verdict ??= this.#cancelledError())
  }

  /** Waits for the work, or until the caller leaves or the deadline passes. */
  race<A>(work: PromiseLike<A>, contest: Contest<A>): void {
    const lose = (error: unknown): void => {
      if (!this.#ended) contest.lost(this, error)
    }
    // A custom thenable of the handler may throw in `then`; a promise passes through.
    Promise.resolve(work).then(outcome => {
      if (!this.#ended) contest.won(this, outcome)
    }, lose)
    this.#lose = lose
    if (this.#verdict !== undefined) lose(this.#verdict)
    else if (!this.#enlisted) enlistLater(this)
  }

  /** Called if the call is still running after the turn of the event loop in which it started. */
  outlive(): void {
    if (this.#ended) return
    this.#enlist()
    if (this.#verdict !== undefined) this.#lose?.(this.#verdict)
  }

  fail(code: string, message?: string, data?: unknown): never {
    const spec = this.#descriptor.errors[code]
    if (spec === undefined) throw new Error(`${this.#descriptor.id} does not declare the error ${code}`)
    throw new SvcError(code, message ?? spec.message, { status: spec.status ?? 422, ...defined({ data }) })
  }

  emit(event: unknown): void {
    const { onEvent } = this.#invocation
    if (onEvent !== undefined) this.#tell(() => this.#invocation.onEvent?.(event))
  }

  progress(done: number, total?: number, message?: string): void {
    const { onProgress } = this.#invocation
    if (onProgress !== undefined) this.#tell(() => this.#invocation.onProgress?.(done, total, message))
  }

  expire(): void {
    const { id } = this.#descriptor
    const details = { plugin: this.#owner.name, data: { timeoutMs: this.#limitMs } }
    this.#abort(kernelErrors.create('OPR_TIMEOUT', `${id} did not finish within ${this.#limitMs} ms`, details))
  }

  cancel(): void {
    this.#abort(this.#cancelledError())
  }

  /** The caller's signal was aborted. */
  handleEvent(): void {
    this.cancel()
  }

  end(): void {
    this.#ended = true
    this.#lose = undefined
    if (!this.#enlisted) return
    this.#owner.running.delete(this)
    this.#invocation.signal?.removeEventListener('abort', this)
  }

  /** Joins the calls that may expire or be cancelled. */
  #enlist(): void {
    if (this.#enlisted) return
    this.#enlisted = true
    const { running } = this.#owner
    const { signal } = this.#invocation
    if (running.closed || signal?.aborted === true) {
      this.#verdict ??= this.#cancelledError()
      return
    }
    running.add(this)
    signal?.addEventListener('abort', this)
  }

  #abort(verdict: SvcError): void {
    if (this.#ended || this.#verdict !== undefined) return
    this.#verdict = verdict
    this.#controller?.abort(verdict)
    this.#lose?.(verdict)
  }

  /** A listener that throws belongs to the caller: it ends the call without blaming the handler. */
  #tell(listener: () => void): void {
    if (this.#ended || this.#verdict !== undefined) return
    try {
      listener()
    } catch (cause) {
      this.#abort(this.#cancelledError('was cancelled: its caller failed to receive an event', cause))
    }
  }

  #cancelledError(how = 'was cancelled', cause?: unknown): SvcError {
    return kernelErrors.create('OPR_CANCELLED', `${this.#descriptor.id} ${how}`, defined({ cause }))
  }
}

let begun: CallState[] = []

/**
 * Most calls end within the turn of the event loop in which they started. They need no deadline and no listener for
 * cancellation. The others join the running calls at the end of the turn.
 */
function enlistLater(call: CallState): void {
  if (begun.push(call) > 1) return
  setImmediate(() => {
    const calls = begun
    begun = []
    for (const each of calls) each.outlive()
  })
}

function withFields(log: Logger, own: Readonly<Record<string, unknown>>): Logger {
  return {
    debug: (message, fields) => log.debug(message, { ...own, ...fields }),
    info: (message, fields) => log.info(message, { ...own, ...fields }),
    warn: (message, fields) => log.warn(message, { ...own, ...fields }),
    error: (message, fields) => log.error(message, { ...own, ...fields })
  }
}

/** Undefined, 0 and NaN mean no limit. */
function limit(milliseconds: number | undefined): number {
  return milliseconds !== undefined && milliseconds > 0 ? milliseconds : Infinity
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}
