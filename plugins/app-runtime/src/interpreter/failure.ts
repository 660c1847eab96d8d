import type { RunErrorCode } from '../errors.ts'

/** An active function and its call site, as byte offsets. */
export interface Call {
  readonly name: string
  readonly at: number
}

/** A failure that ends a program. The innermost node that knows its position sets `at`. */
export class RunError extends Error {
  readonly code: RunErrorCode
  /** Byte offset in the source; -1 while unknown. */
  at: number
  /** Facts for the caller of an endpoint; null if there are none. */
  details: object | null = null
  /** The innermost calls; `omittedCalls` counts the others. */
  readonly calls: Call[] = []
  omittedCalls = 0

  constructor(code: RunErrorCode, message: string, at = -1) {
    super(message)
    this.name = 'Failure'
    this.code = code
    this.at = at
  }

  addCall(name: string, at: number): void {
    if (this.calls.length < MAX_CALLS) this.calls.push({ name, at })
    else this.omittedCalls++
  }
}

const MAX_CALLS = 10

export function fail(code: RunErrorCode, message: string, at = -1): never {
  // The JavaScript stack does not describe the program, and is expensive to capture.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  const failure = new RunError(code, message, at)
  Error.stackTraceLimit = stackTraceLimit
  throw failure
}
