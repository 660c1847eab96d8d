import { defined, isSvcError } from '@svc/plugin-sdk'
import { display } from '../interpreter/display.ts'
import type { Interpreter, RunningProgram } from '../interpreter/interpreter.ts'
import type { Limits } from '../interpreter/machine.ts'
import { type Caller, callerOfText } from '../interpreter/request.ts'
import { ResponseValue } from '../interpreter/response.ts'
import { Tagged, type Value } from '../interpreter/value.ts'
import type { Codec } from '../wire/codec.ts'
import { printJson } from '../wire/json-text.ts'
import { codedMismatch, type WireTypes } from '../wire/wire-types.ts'
import { type Arguments, argumentsOf, type ReadArguments, type ReadInput } from './endpoint-input.ts'
import type { Endpoint } from './endpoints.ts'
import type { SentFailure, SentResponse } from './messages.ts'
import { refusalStatus } from './refusal-status.ts'

/**
 * Runs work in one database transaction. The transaction is rolled back on an exception, or if `keeps` returns false.
 * `name`: name of the endpoint.
 */
export type InTransaction = <A>(kind: 'read' | 'write', work: () => A, keeps: (result: A) => boolean, name: string) => A

/** Listener of a running call. */
export interface Turn {
  running(program: RunningProgram): void
  /** Called before the commit. From here on, the changes may be stored. */
  committing(): void
  committed(): void
}

export interface EndpointResponse {
  readonly status: number
  /** Response body as JSON. */
  readonly body: string
  /** The `Response` of a route, which replaces the body. */
  readonly response?: SentResponse
  /** Failure for the log, with source positions, which callers do not see; null if there is none. */
  readonly failure: SentFailure | null
}

/** Status of the responses whose mutations are committed. */
export const OK = 200

/** Calls one endpoint of a program. Input and output are text. */
export class EndpointRunner {
  readonly #endpoint: Endpoint
  readonly #interpreter: Interpreter
  readonly #limits: Limits
  readonly #inTransaction: InTransaction
  readonly #read: ReadArguments
  readonly #result: Codec
  readonly #error: Codec
  readonly #any: Codec
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
    const returns = types.unaliased(endpoint.returns)
    const [item, error] =
      typeof returns === 'object' && returns !== null && 'Generic' in returns ? returns.Generic[1] : []
    this.#isResult = item !== undefined && isGeneric(returns, 'Result')
    this.#result = types.codec(this.#isResult ? (item ?? null) : returns)
    this.#error = types.codec(error ?? null)
    this.#any = types.codec(null)
  }

  /** `caller`: the caller as text. */
  run(text: string, turn: Turn, caller: string): EndpointResponse {
    let isRead = false
    try {
      return this.#interpreter.within(this.#limits, program => {
        turn.running(program)
        const { args, request } = this.#input(text, callerOfText(caller))
        isRead = true
        program.handle(request)
        return this.#call(program, args, turn)
      })
    } catch (thrown) {
      return isRead ? failed(thrown) : refused(thrown)
    }
  }

  #input(text: string, caller: Caller): ReadInput {
    try {
      return this.#read(text, caller)
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
    // Serialising the result is part of the transaction: if it fails, the call is rolled back.
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
    if (result instanceof ResponseValue && this.#endpoint.kind === 'route') return this.#response(result)
    try {
      return { status: OK, body: printJson(this.#result.encode(result)), failure: null }
    } catch (thrown) {
      throw codedMismatch('RUN_RESULT', thrown)
    }
  }

  #response({ parts: { status, headers, cookies, content } }: ResponseValue): EndpointResponse {
    const sent = content.kind === 'json' ? { kind: 'text' as const, text: this.#json(content.value) } : content
    return { status, body: '', response: { headers, cookies, content: sent }, failure: null }
  }

  #json(value: Value): string {
    try {
      return printJson(this.#any.encode(value))
    } catch (thrown) {
      throw codedMismatch('RUN_RESULT', thrown)
    }
  }

  /** Returns the response for an Error, which is an intended result and is not logged as a failure. */
  #refusal(reason: Value): EndpointResponse {
    const error = display(reason)
    let details: unknown
    try {
      if (typeof reason !== 'string') details = this.#error.encode(reason)
    } catch {
      // The response then contains only the text.
    }
    return { status: refusalStatus(reason), body: printJson({ error, code: 'RUN_REFUSED', details }), failure: null }
  }
}

function isGeneric(type: Endpoint['returns'], name: string): boolean {
  return typeof type === 'object' && type !== null && 'Generic' in type && type.Generic[0] === name
}

/** Returns the response for invalid arguments. */
function refused(thrown: unknown): EndpointResponse {
  if (!isSvcError(thrown, 'RUN_ARGUMENTS')) return failed(thrown)
  const { code, message, hint, data } = thrown
  return { status: 400, body: printJson({ error: message, code, details: data, hint }), failure: null }
}

/** Statuses that callers can act on. All others become 500. */
const PUBLIC_STATUSES: ReadonlySet<number> = new Set([401, 403, 409, 503, 504])

/** Statuses of intended refusals, which are not logged as failures. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403])

/** Codes of failures that only the caller can avoid. */
const CALLER_CODES: ReadonlySet<string> = new Set(['RUN_BODY', 'RUN_CURSOR'])

/** Codes of program failures, whose message without position is in `data`. */
const PLAIN = /^RUN_/

/** Returns the response for a failed call. */
export function failed(thrown: unknown): EndpointResponse {
  const failure = failureOf(thrown)
  const { code } = failure
  const { status, data } = isSvcError(thrown) ? thrown : { status: 500, data: null }
  const { message = null, details } = (data ?? {}) as { readonly message?: string | null; readonly details?: object }
  const shownStatus = CALLER_CODES.has(code) ? 400 : PUBLIC_STATUSES.has(status) ? status : 500
  // The log message may name files; the response must not.
  const error = message ?? (PLAIN.test(code) ? 'the function failed' : failure.message)
  return {
    status: shownStatus,
    body: printJson({ error, code, details }),
    failure: REFUSALS.has(shownStatus) ? null : failure
  }
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
