import {
  type Deferred,
  type Invocation,
  kernelAdmin,
  type OperationEnd,
  type OperationEntry,
  type OperationStart
} from '@svc/contracts'
import {
  type BreakerPolicy,
  type Call,
  CircuitBreaker,
  errorMessage,
  isSvcError,
  isThenable,
  type OperationDescriptor,
  type PluginManifest,
  type Principal,
  raceAbort,
  Semaphore,
  type SvcError
} from '@svc/plugin-sdk'
import {
  copyPlain,
  type FieldProblem,
  hasSecrets,
  renderProblems,
  secretsIn,
  type Validate,
  type Validator
} from '@svc/plugin-sdk/check'
import { type CallOwner, CallState, type RaceCallbacks } from './call.ts'
import { kernelErrors } from './errors.ts'
import type { HookSet, Run } from './hooks.ts'

/** The part of the owning unit that an operation uses. */
export interface OperationOwner extends CallOwner {
  readonly version: string
  readonly manifest: Pick<PluginManifest, 'requires' | 'optional'>
  readonly instance: string
  /** True if the unit no longer serves. */
  readonly retired: boolean
  enter(): void
  exit(): void
  /** Returns the serving operation with this id, if there is one. */
  successor(operationId: string): OperationEntry | undefined
  /** Hooks of the serving generation; undefined in the worker of an isolated unit. */
  readonly hooks: Pick<HookSet, 'operationStarting' | 'operationEnded'> | undefined
  /** Records a finished call for metrics, logs and the unit's health. */
  settled(operation: BoundOperation, milliseconds: number, error: unknown, call: CallState): void
  breakerChanged(): void
  /** Masks a secret of an input in the logs. */
  mask(secret: string): void
}

/** Prefix of the ids of principals that are plugins. */
export const PLUGIN_PRINCIPAL = 'plugin:'

type AnyHandler = (input: unknown, call: Call) => unknown

/** Operation bound to its handler: authorises, validates the input, limits, runs, validates the output, maps errors. */
export class BoundOperation implements OperationEntry, RaceCallbacks<unknown> {
  readonly descriptor: OperationDescriptor
  readonly unit: OperationOwner & OperationEntry['unit']
  readonly breaker: CircuitBreaker
  readonly #handler: AnyHandler
  readonly #untapped: OperationDescriptor['untapped']
  readonly #hasSecrets: boolean
  readonly #validator: Validator
  readonly #slots: Semaphore | null
  #strict: Validate | undefined
  #coercing: Validate | undefined
  #output: Validate | undefined

  constructor(
    descriptor: OperationDescriptor,
    unit: OperationOwner & OperationEntry['unit'],
    handler: AnyHandler,
    validator: Validator,
    breaker: BreakerPolicy
  ) {
    this.descriptor = descriptor
    this.unit = unit
    this.breaker = new CircuitBreaker(breaker)
    const { requires, optional } = unit.manifest
    this.#untapped = [...requires, ...optional].includes(kernelAdmin.id) ? descriptor.untapped : undefined
    this.#handler = handler
    this.#hasSecrets = hasSecrets(descriptor.input)
    this.#validator = validator
    this.#slots = descriptor.concurrency > 0 ? new Semaphore(descriptor.concurrency) : null
  }

  invoke(input: unknown, invocation: Invocation): Promise<unknown> {
    return new Promise((resolve, reject) => this.start(input, invocation, { resolve, reject }))
  }

  /**
   * Starts a call. If the unit was replaced while a surface was reading the request, the current unit runs the call.
   */
  start(input: unknown, invocation: Invocation, deferred: Deferred): void {
    const { unit } = this
    if (unit.retired) {
      const successor = this.#successor()
      if (successor === null) {
        deferred.reject(this.#goneError())
        return
      }
      if (successor !== this) {
        successor.start(input, invocation, deferred)
        return
      }
    }
    const call = new CallState(this.descriptor, unit, invocation, deferred)
    unit.enter()
    let checked: unknown
    try {
      this.#authorise(invocation.principal)
      checked = this.#checkInput(input, invocation)
      this.#admit()
    } catch (error) {
      // Errors before admission are the caller's and do not count as faults of the plugin.
      this.#refuse(call, error)
      return
    }
    const starting = unit.hooks?.operationStarting
    if (starting === undefined || this.#untapped === true) this.#proceed(checked, call)
    else this.#runStartingTaps(starting, checked, call)
  }

  #proceed(input: unknown, call: CallState): void {
    if (this.#slots === null) this.#begin(input, call)
    else void this.#beginWhenFree(this.#slots, input, call)
  }

  /**
   * Runs the taps of `kernel.operation-starting`, which may refuse the call. Their time counts towards its deadline. Taps of
   * the calling plugin are skipped, since a tap that calls an operation would recurse, and those of plugins that the call
   * manages, so that they cannot prevent it.
   */
  #runStartingTaps(starting: Run, input: unknown, call: CallState): void {
    try {
      const start = this.#startOf(call, input)
      const managed =
        this.#untapped === undefined ? [] : [(input as Record<string, unknown>)[this.#untapped as string]].flat()
      const skips = (plugin: string): boolean => plugin === start.caller || managed.includes(plugin)
      const result = starting([start], { skips })
      if (isThenable(result)) {
        void this.#awaitTaps(result, input, call)
        return
      }
    } catch (error) {
      this.#refuseByTap(call, error)
      return
    }
    this.#proceed(input, call)
  }

  async #awaitTaps(result: PromiseLike<unknown>, input: unknown, call: CallState): Promise<void> {
    try {
      await raceAbort(call.signal, result)
    } catch (error) {
      this.#refuseByTap(call, error)
      return
    }
    this.#proceed(input, call)
  }

  #refuseByTap(call: CallState, error: unknown): void {
    this.breaker.release()
    this.#refuse(call, error)
  }

  // Literals: V8 adds properties to a spread object many times slower.
  #startOf(call: CallState, input: unknown): OperationStart {
    const { surface, principal, requestId, traceId, spanId, parentSpanId } = call
    const { id: operation, effect } = this.descriptor
    const plugin = this.unit.name
    const caller = principal.id.startsWith(PLUGIN_PRINCIPAL) ? principal.id.slice(PLUGIN_PRINCIPAL.length) : null
    return { operation, plugin, effect, surface, principal, caller, requestId, traceId, spanId, parentSpanId, input }
  }

  async #beginWhenFree(slots: Semaphore, input: unknown, call: CallState): Promise<void> {
    try {
      await slots.acquire(
        granted =>
          new Promise((onResult, onError) =>
            call.race(granted, { onResult: () => onResult(), onError: (_, error) => onError(error) })
          )
      )
    } catch (error) {
      // The handler has not started, so this is not a fault of the plugin.
      this.breaker.release()
      this.#refuse(call, error)
      return
    }
    this.#begin(input, call)
  }

  #begin(input: unknown, call: CallState): void {
    let pending: unknown
    let waits: boolean
    try {
      call.assertNotCancelled()
      const { observer } = this.unit
      pending =
        observer !== null && call.sampled
          ? observer.within(call, () => this.#handler(input, call))
          : this.#handler(input, call)
      waits = isThenable(pending)
    } catch (error) {
      this.onError(call, error)
      return
    }
    if (waits) call.race(pending as PromiseLike<unknown>, this)
    else this.onResult(call, pending)
  }

  /** Ends the call after the handler returned a result. */
  onResult(call: CallState, output: unknown): void {
    try {
      this.#checkOutput(output)
    } catch (error) {
      this.onError(call, error)
      return
    }
    if (this.breaker.succeed()) this.unit.breakerChanged()
    this.#slots?.release()
    this.#end(call, undefined, output)
    call.deferred.resolve(output)
  }

  /** Ends the call after the handler failed, or after the call was cancelled or timed out. */
  onError(call: CallState, error: unknown): void {
    const failure = this.#toCallerError(error, call)
    this.#slots?.release()
    this.#refuse(call, failure)
  }

  #refuse(call: CallState, error: unknown): void {
    this.#end(call, error)
    call.deferred.reject(error)
  }

  #end(call: CallState, failure: unknown, output?: unknown): void {
    call.end()
    const durationMs = performance.now() - call.started
    this.unit.settled(this, durationMs, failure, call)
    this.unit.observer?.ended(call, this.descriptor, this.unit.name, durationMs, failure)
    const ended = this.unit.hooks?.operationEnded
    if (ended !== undefined) {
      const start = this.#startOf(call, undefined)
      const create = (): OperationEnd => ({
        operation: start.operation,
        plugin: start.plugin,
        effect: start.effect,
        surface: start.surface,
        principal: copyPlain(start.principal) as Principal,
        caller: start.caller,
        requestId: start.requestId,
        traceId: start.traceId,
        spanId: start.spanId,
        parentSpanId: start.parentSpanId,
        error: failure === undefined ? null : this.#errorDetails(failure, call),
        durationMs,
        // Copied only if a tap reads it.
        get output() {
          return structuredClone(output)
        }
      })
      announce(ended, create)
    }
    this.unit.exit()
  }

  #errorDetails(failure: unknown, call: CallState): OperationEnd['error'] {
    const { code, message, status } = isSvcError(failure) ? failure : this.#failed(call, failure)
    return { code, message, status }
  }

  #successor(): OperationEntry | null {
    const next = this.unit.successor(this.descriptor.id)
    // Without a successor, a draining unit still runs the call.
    if (next !== undefined && next !== this) return next
    return this.unit.running.closed ? null : this
  }

  #goneError(): SvcError {
    return kernelErrors.create(
      'OPR_UNKNOWN',
      `the operation ${this.descriptor.id} no longer exists: plugin ${this.unit.name} was removed or reloaded without it`,
      {
        hint: `svc plugins why ${this.unit.name}`
      }
    )
  }

  #authorise(principal: Principal): void {
    const { scopes } = this.descriptor
    if (scopes.length === 0 || principal.scopes.includes('*')) return
    const lacking = scopes.filter(scope => !principal.scopes.includes(scope))
    if (lacking.length === 0) return
    throw kernelErrors.create(
      'OPR_FORBIDDEN',
      `${this.descriptor.id} requires the scope ${lacking.join(', ')}, which ${principal.id} does not have`
    )
  }

  #checkInput(input: unknown, invocation: Invocation): unknown {
    const { input: schema } = this.descriptor
    const coerce = invocation.coerce === true
    const validate = coerce
      ? (this.#coercing ??= this.#validator.compile(schema, true))
      : (this.#strict ??= this.#validator.compile(schema))
    // Validation adds defaults to the object, so the input of a caller in this process is copied.
    const value = invocation.surface === 'internal' ? this.#copy(input) : input
    // Secrets are masked before validation, since validation errors are logged.
    if (this.#hasSecrets) for (const secret of secretsIn(schema, value)) this.unit.mask(secret)
    if (validate(value)) return value
    const problems = this.#validator.explain(schema, value, validate.errors, coerce)
    throw this.#inputInvalid(renderProblems(problems), problems)
  }

  #copy(input: unknown): unknown {
    try {
      return copyPlain(input)
    } catch (error) {
      throw this.#inputInvalid(errorMessage(error), [])
    }
  }

  #inputInvalid(why: string, problems: readonly FieldProblem[]): SvcError {
    const { id } = this.descriptor
    return kernelErrors.create('OPR_INPUT_INVALID', `${id}: ${why}`, {
      data: problems,
      hint: `svc call ${id} --help shows the input`
    })
  }

  #admit(): void {
    const waitMs = this.breaker.admit()
    if (waitMs === 0) return
    throw kernelErrors.create(
      'OPR_UNAVAILABLE',
      `${this.descriptor.id} is disabled for ${Math.ceil(waitMs / 1000)} s after repeated faults of plugin ${this.unit.name}`,
      { data: { retryAfterMs: waitMs }, plugin: this.unit.name, hint: `svc plugins why ${this.unit.name}` }
    )
  }

  #checkOutput(output: unknown): void {
    const { id, output: schema } = this.descriptor
    const validate = (this.#output ??= this.#validator.compile(schema))
    if (validate(output)) return
    const problems = this.#validator.explain(schema, output, validate.errors)
    throw kernelErrors.create('OPR_OUTPUT_INVALID', `${id} returned an invalid result: ${renderProblems(problems)}`, {
      plugin: this.unit.name,
      data: problems
    })
  }

  /**
   * Returns the error for the caller and updates the breaker. Errors with a code are returned unchanged. Others are
   * faults of the plugin, and their details are hidden from the caller.
   */
  #toCallerError(error: unknown, call: CallState): SvcError {
    if (isSvcError(error)) {
      if (FAULTS.has(error.code)) this.#fault()
      else if (NEUTRAL.has(error.code)) this.breaker.release()
      else if (this.breaker.succeed()) this.unit.breakerChanged()
      return error
    }
    if (call.cancelled) {
      this.breaker.release()
      return kernelErrors.create('OPR_CANCELLED', `${this.descriptor.id} was cancelled by its caller`, { cause: error })
    }
    this.#fault()
    return this.#failed(call, error)
  }

  #failed({ traceId }: CallState, cause: unknown): SvcError {
    return kernelErrors.create(
      'OPR_FAILED',
      `${this.descriptor.id} failed in plugin ${this.unit.name}; see its log, trace ${traceId}`,
      { plugin: this.unit.name, data: { traceId }, cause }
    )
  }

  #fault(): void {
    if (this.breaker.fault()) this.unit.breakerChanged()
  }
}

/** Codes of an admitted call that count as faults of its plugin. */
const FAULTS = new Set(['OPR_TIMEOUT', 'OPR_OUTPUT_INVALID'])
/**
 * Codes that count neither as success nor as fault. The caller, or an operation that the handler called, caused them.
 */
const NEUTRAL = new Set(['OPR_CANCELLED', 'OPR_INPUT_INVALID', 'OPR_FORBIDDEN', 'OPR_UNAVAILABLE'])

/** Triggers `kernel.operation-ended`. Errors of taps are already logged and do not affect the call. */
function announce(ended: Run, create: () => OperationEnd): void {
  try {
    const end = create()
    const done = ended([end], { skips: plugin => plugin === end.caller, copy: () => [create()] })
    if (isThenable(done)) done.then(undefined, () => {})
  } catch {
    // Only possible if a plugin declares this hook with `onError: 'fail'`.
  }
}
