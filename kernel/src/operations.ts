import type { Invocation, OperationEntry } from '@svc/contracts'
import { type Call, isSvcError, type OperationDescriptor, type Principal, SvcError } from '@svc/plugin-sdk'
import type { ValidateFunction } from 'ajv'
import { Breaker, type BreakerPolicy } from './breaker.ts'
import { kernelErrors } from './errors.ts'
import { randomHex, traceIdOf } from './trace.ts'
import { describeErrors, renderProblems, type Validator } from './validation.ts'

/** What an operation needs to know about the unit that owns it. */
export interface OperationOwner {
  readonly name: string
  readonly version: string
  readonly instance: string
  readonly signal: AbortSignal
  enter(): void
  exit(): void
  /** One finished call: feeds metrics, logs and the unit's health. */
  settled(operation: BoundOperation, milliseconds: number, error: unknown, call: CallState): void
  breakerChanged(): void
}

type AnyHandler = (input: unknown, call: Call) => unknown

/** The only caller of a handler: validate, authorise, limit, run, validate, map errors. */
export class BoundOperation implements OperationEntry {
  readonly descriptor: OperationDescriptor
  readonly unit: OperationOwner
  readonly breaker: Breaker
  readonly #handler: AnyHandler
  readonly #validator: Validator
  #strict: ValidateFunction | undefined
  #coercing: ValidateFunction | undefined
  #output: ValidateFunction | undefined
  #running = 0
  readonly #waiting: (() => void)[] = []

  constructor(
    descriptor: OperationDescriptor,
    unit: OperationOwner,
    handler: AnyHandler,
    validator: Validator,
    breaker: BreakerPolicy
  ) {
    this.descriptor = descriptor
    this.unit = unit
    this.breaker = new Breaker(breaker)
    this.#handler = handler
    this.#validator = validator
  }

  async invoke(input: unknown, invocation: Invocation): Promise<unknown> {
    const call = new CallState(this.descriptor, this.unit, invocation)
    this.unit.enter()
    const started = performance.now()
    let failure: unknown
    try {
      this.#authorise(invocation.principal)
      const checked = this.#checkInput(input, invocation)
      this.#admit()
      if (this.descriptor.concurrency > 0) await this.#slot(call)
      try {
        const output = await this.#run(checked, call)
        if (this.breaker.succeed()) this.unit.breakerChanged()
        return output
      } finally {
        if (this.descriptor.concurrency > 0) this.#free()
      }
    } catch (error) {
      failure = this.#mapError(error, call)
      throw failure
    } finally {
      call.end()
      this.unit.settled(this, performance.now() - started, failure, call)
      this.unit.exit()
    }
  }

  #authorise(principal: Principal): void {
    const lacking = this.descriptor.scopes.filter(
      scope => !principal.scopes.includes(scope) && !principal.scopes.includes('*')
    )
    if (lacking.length === 0) return
    throw kernelErrors.create(
      'OPR_FORBIDDEN',
      `${this.descriptor.id} needs the scope ${lacking.join(', ')}, which ${principal.id} lacks`
    )
  }

  #checkInput(input: unknown, invocation: Invocation): unknown {
    const validate = invocation.coerce
      ? (this.#coercing ??= this.#validator.compile(this.descriptor.input, true))
      : (this.#strict ??= this.#validator.compile(this.descriptor.input))
    // Validation fills defaults in; a caller inside the process keeps its object as it was.
    const value = invocation.surface === 'internal' ? structuredClone(input) : input
    if (validate(value)) return value
    const problems = describeErrors(validate.errors)
    throw kernelErrors.create('OPR_INPUT_INVALID', `${this.descriptor.id}: ${renderProblems(problems)}`, {
      data: problems,
      hint: `svc call ${this.descriptor.id} --help shows the input`
    })
  }

  #admit(): void {
    const waitMs = this.breaker.admit()
    if (waitMs === 0) return
    throw kernelErrors.create(
      'OPR_UNAVAILABLE',
      `${this.descriptor.id} is switched off for ${Math.ceil(waitMs / 1000)} s after repeated faults of plugin ${this.unit.name}`,
      { data: { retryAfterMs: waitMs }, plugin: this.unit.name, hint: `svc plugins why ${this.unit.name}` }
    )
  }

  async #run(input: unknown, call: CallState): Promise<unknown> {
    const pending = this.#handler(input, call)
    const output = isThenable(pending) ? await call.race(pending) : pending
    const validate = (this.#output ??= this.#validator.compile(this.descriptor.output))
    if (validate(output)) return output
    const problems = describeErrors(validate.errors)
    throw kernelErrors.create(
      'OPR_OUTPUT_INVALID',
      `${this.descriptor.id} returned an invalid result: ${renderProblems(problems)}`,
      {
        plugin: this.unit.name,
        data: problems
      }
    )
  }

  /** Declared and kernel errors pass; anything else is a fault of the plugin and is not shown to the caller. */
  #mapError(error: unknown, call: CallState): SvcError {
    if (isSvcError(error)) {
      if (error.code === 'OPR_TIMEOUT' || error.code === 'OPR_OUTPUT_INVALID') this.#fault()
      else if (!CALLER_CODES.has(error.code) && this.breaker.succeed()) this.unit.breakerChanged()
      else this.breaker.release()
      return error
    }
    if (call.cancelled) {
      this.breaker.release()
      return kernelErrors.create('OPR_CANCELLED', `${this.descriptor.id} was cancelled by its caller`, { cause: error })
    }
    this.#fault()
    return kernelErrors.create(
      'OPR_FAILED',
      `${this.descriptor.id} failed in plugin ${this.unit.name}; see its log, trace ${call.traceId}`,
      {
        plugin: this.unit.name,
        data: { traceId: call.traceId },
        cause: error
      }
    )
  }

  #fault(): void {
    if (this.breaker.fault()) this.unit.breakerChanged()
  }

  async #slot(call: CallState): Promise<void> {
    if (this.#running < this.descriptor.concurrency) {
      this.#running += 1
      return
    }
    await call.race(
      new Promise<void>((resolve, reject) => {
        this.#waiting.push(() => {
          if (!call.signal.aborted) return resolve()
          this.#free()
          reject(call.signal.reason)
        })
      })
    )
  }

  /** The slot passes to the next in line without becoming free in between. */
  #free(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#running -= 1
    else next()
  }
}

/** Refused before the handler ran: says nothing about the plugin's health. */
const CALLER_CODES = new Set(['OPR_INPUT_INVALID', 'OPR_FORBIDDEN', 'OPR_UNAVAILABLE', 'OPR_CANCELLED'])

/** One call as the handler sees it. Signals, timers and ids are made on first use: most calls need none. */
export class CallState implements Call {
  readonly #descriptor: OperationDescriptor
  readonly #unit: OperationOwner
  readonly #invocation: Invocation
  #controller: AbortController | undefined
  #timer: NodeJS.Timeout | undefined
  #traceId: string | undefined
  #requestId: string | undefined
  #unlink: (() => void)[] = []
  #ended = false
  readonly deadline: number

  constructor(descriptor: OperationDescriptor, unit: OperationOwner, invocation: Invocation) {
    this.#descriptor = descriptor
    this.#unit = unit
    this.#invocation = invocation
    const timeout = Math.min(descriptor.timeoutMs || Infinity, invocation.timeoutMs ?? Infinity)
    this.deadline = timeout === Infinity ? Infinity : Date.now() + timeout
  }

  get surface(): string {
    return this.#invocation.surface
  }

  get principal(): Principal {
    return this.#invocation.principal
  }

  get traceId(): string {
    return (this.#traceId ??= traceIdOf(this.#invocation.traceparent))
  }

  get requestId(): string {
    return (this.#requestId ??= this.#invocation.requestId ?? randomHex(8))
  }

  get cancelled(): boolean {
    return this.#invocation.signal?.aborted === true || this.#unit.signal.aborted
  }

  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal
    const controller = new AbortController()
    this.#controller = controller
    for (const source of [this.#invocation.signal, this.#unit.signal]) {
      if (source === undefined) continue
      const abort = (): void => controller.abort(this.#cancelledError())
      if (source.aborted) abort()
      else {
        source.addEventListener('abort', abort, { once: true })
        this.#unlink.push(() => source.removeEventListener('abort', abort))
      }
    }
    return controller.signal
  }

  /** Settles with the work, or rejects when the caller leaves or the deadline passes, whichever is first. */
  race<A>(work: PromiseLike<A>): Promise<A> {
    return new Promise<A>((resolve, reject) => {
      const signal = this.signal
      const onAbort = (): void => reject(signal.reason)
      if (signal.aborted) onAbort()
      else signal.addEventListener('abort', onAbort, { once: true })
      if (this.deadline !== Infinity && this.#timer === undefined) {
        this.#timer = setTimeout(
          () => this.#controller?.abort(this.#timeoutError()),
          Math.max(this.deadline - Date.now(), 0)
        )
      }
      work.then(resolve, reject)
    })
  }

  fail(code: string, message?: string, data?: unknown): never {
    const spec = this.#descriptor.errors[code]
    if (spec === undefined) throw new Error(`${this.#descriptor.id} does not declare the error ${code}`)
    throw new SvcError(code, message ?? spec.message, {
      status: spec.status ?? 422,
      ...(data === undefined ? {} : { data })
    })
  }

  emit(event: unknown): void {
    if (!this.#ended) this.#invocation.onEvent?.(event)
  }

  progress(done: number, total?: number, message?: string): void {
    if (!this.#ended) this.#invocation.onProgress?.(done, total, message)
  }

  end(): void {
    this.#ended = true
    clearTimeout(this.#timer)
    for (const unlink of this.#unlink) unlink()
  }

  #cancelledError(): SvcError {
    return kernelErrors.create('OPR_CANCELLED', `${this.#descriptor.id} was cancelled`)
  }

  #timeoutError(): SvcError {
    return kernelErrors.create('OPR_TIMEOUT', `${this.#descriptor.id} did not finish in time`, {
      plugin: this.#unit.name,
      data: { timeoutMs: this.#descriptor.timeoutMs }
    })
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}
