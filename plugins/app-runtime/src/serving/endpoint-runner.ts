import { defined, isSvcError } from '@svc/plugin-sdk'
import { display } from '../interpreter/display.ts'
import type { Interpreter, RunningProgram } from '../interpreter/interpreter.ts'
import type { Limits } from '../interpreter/machine.ts'
import { Tagged, type Value } from '../interpreter/value.ts'
import type { Codec } from '../wire/codec.ts'
import { printJson } from '../wire/json-text.ts'
import { codedMismatch, type WireTypes } from '../wire/wire-types.ts'
import { type Arguments, argumentsOf } from './endpoint-input.ts'
import type { Endpoint } from './endpoints.ts'
import type { SentFailure } from './messages.ts'
import { refusalStatus } from './refusal-status.ts'

/**
 * Runs work as one database transaction. It is rolled back on an exception, or if `keeps` rejects the result. `of`
 * is the name of the endpoint.
 */
export type InTransaction = <A>(kind: 'read' | 'write', work: () => A, keeps: (result: A) => boolean, of: string) => A

/** Events of a running endpoint, for its callers. */
export interface Turn {
  running(program: RunningProgram): void
  /** Called before the commit: from here on, its changes may be stored. */
  committing(): void
  committed(): void
}

export interface EndpointResponse {
  readonly status: number
  /** JSON. */
  readonly body: string
  /** For the log; callers do not see source positions. */
  readonly failure: SentFailure | null
}

const OK = 200

/** Calls one endpoint of a program, with text input and output. */
export class EndpointRunner {
  readonly #endpoint: Endpoint
  readonly #interpreter: Interpreter
  readonly #limits: Limits
  readonly #inTransaction: InTransaction
  readonly #read: (text: string) => Arguments
  readonly #result: Codec
  readonly #error: Codec
  readonly #isResult: boolean

  constructor(
    endpoint: Endpoint,
    interpreter: Interpreter,
    types: WireTypes,
    limits: Limits,
    inTransaction: InTransaction
  ) {
    this.#endpoint = endpoint
    this.#interpreter = interpreter
    this.#limits = limits
    this.#inTransaction = inTransaction
    this.#read = argumentsOf(endpoint, types)
    const { returns } = endpoint
    const [item, error] =
      typeof returns === 'object' && returns !== null && 'Generic' in returns ? returns.Generic[1] : []
    this.#isResult = item !== undefined && isGeneric(returns, 'Result')
    this.#result = types.codec(this.#isResult ? (item ?? null) : returns)
    this.#error = types.codec(error ?? null)
  }

  run(text: string, turn: Turn): EndpointResponse {
    let isRead = false
    try {
      return this.#interpreter.within(this.#limits, program => {
        turn.running(program)
        const args = this.#arguments(text)
        isRead = true
        return this.#call(program, args, turn)
      })
    } catch (thrown) {
      return isRead ? failed(thrown) : refused(thrown)
    }
  }

  #arguments(text: string): Arguments {
    try {
      return this.#read(text)
    } catch (thrown) {
      throw codedMismatch('RUN_ARGUMENTS', thrown)
    }
  }

  #call(program: RunningProgram, args: Arguments, turn: Turn): EndpointResponse {
    const { kind, name } = this.#endpoint
    const work = (): EndpointResponse => {
      return this.#answer(kind === 'route' ? program.route(name, args) : program.function(name, args))
    }
    if (kind === 'query') return this.#inTransaction('read', work, () => true, name)
    if (kind !== 'mutation') return work()
    // Serialising the answer is part of the call: if it fails, the call is rolled back.
    const keeps = ({ status }: EndpointResponse): boolean => {
      const isKept = status === OK
      if (isKept) turn.committing()
      return isKept
    }
    const answer = this.#inTransaction('write', work, keeps, name)
    turn.committed()
    return answer
  }

  #isError(value: Value): value is Tagged {
    return value instanceof Tagged && value.tag === 'Error' && (this.#isResult || this.#endpoint.returns === null)
  }

  #answer(value: Value): EndpointResponse {
    if (this.#isError(value)) return this.#refusal(value.fields[0] ?? null)
    const isOk = value instanceof Tagged && value.tag === 'Ok' && (this.#isResult || this.#endpoint.returns === null)
    const result = isOk ? (value.fields[0] ?? null) : value
    try {
      return { status: OK, body: printJson(this.#result.encode(result)), failure: null }
    } catch (thrown) {
      throw codedMismatch('RUN_RESULT', thrown)
    }
  }

  /** An Error is an intended answer of the program, so it is not logged as a failure. */
  #refusal(reason: Value): EndpointResponse {
    const error = display(reason)
    let details: unknown
    try {
      if (typeof reason !== 'string') details = this.#error.encode(reason)
    } catch {
      // Its text is used then.
    }
    return { status: refusalStatus(reason), body: printJson({ error, code: 'RUN_REFUSED', details }), failure: null }
  }
}

function isGeneric(type: Endpoint['returns'], name: string): boolean {
  return typeof type === 'object' && type !== null && 'Generic' in type && type.Generic[0] === name
}

/** For arguments that the endpoint does not accept. */
function refused(thrown: unknown): EndpointResponse {
  if (!isSvcError(thrown, 'RUN_ARGUMENTS')) return failed(thrown)
  const { code, message, hint, data } = thrown
  return { status: 400, body: printJson({ error: message, code, details: data, hint }), failure: null }
}

/** Statuses with a meaning for callers; others are failures of the program. */
const PUBLIC_STATUSES: ReadonlySet<number> = new Set([409, 503, 504])

/** Codes whose messages describe the program's act, without source positions. */
const PLAIN = /^RUN_/

/** For the reason that ended a call. */
export function failed(thrown: unknown): EndpointResponse {
  const failure = failureOf(thrown)
  const { code } = failure
  const { status, data } = isSvcError(thrown) ? thrown : { status: 500, data: null }
  const { message = null } = (data ?? {}) as { readonly message?: string | null }
  const shownStatus = code === 'RUN_BODY' ? 400 : PUBLIC_STATUSES.has(status) ? status : 500
  // A message for the log may name files; the public one does not.
  const error = message ?? (PLAIN.test(code) ? 'the function failed' : failure.message)
  return { status: shownStatus, body: printJson({ error, code }), failure: shownStatus === 400 ? null : failure }
}

export function failureOf(thrown: unknown): SentFailure {
  if (!isSvcError(thrown)) {
    const { stack = String(thrown) } = thrown as Error
    return { code: 'RUN_CRASHED', message: `the interpreter failed: ${stack}`, calls: [] }
  }
  const { code, message, hint, data } = thrown
  const { calls = [] } = (data ?? {}) as { readonly calls?: readonly string[] }
  return { code, message, calls, ...defined({ hint }) }
}
