import { inspect } from 'node:util'
import { defined, type ErrorPlace, isSvcError, SvcError } from '@svc/plugin-sdk'

/** Error as plain data. A structured clone would keep only its message and stack. */
export interface EncodedError {
  readonly name: string
  readonly message: string
  readonly stack?: string | undefined
  readonly cause?: EncodedError | undefined
  /** Present if the error has a stable code. */
  readonly code?: string
  readonly status?: number
  readonly hint?: string | undefined
  readonly at?: ErrorPlace | undefined
  readonly docs?: string | undefined
  readonly data?: unknown
  readonly plugin?: string | undefined
}

/** Encodes an error with up to five causes, since a chain of causes may be cyclic. */
export function encodeError(error: unknown, depth = 5): EncodedError {
  if (!(error instanceof Error) && !isSvcError(error)) return { name: 'Error', message: String(error) }
  const { name, message, stack } = error
  const cause = error.cause === undefined || depth === 0 ? undefined : encodeError(error.cause, depth - 1)
  if (!isSvcError(error)) return { name, message, stack, cause }
  const { code, status, hint, at, docs, plugin } = error
  return { name, message, stack, cause, code, status, hint, at, docs, plugin, data: plain(error.data) }
}

export function decodeError(encoded: EncodedError): Error {
  const { name, message, stack, code, status = 500, hint, at, docs, data, plugin } = encoded
  const cause = encoded.cause === undefined ? undefined : decodeError(encoded.cause)
  const error =
    code === undefined
      ? new Error(message, defined({ cause }))
      : new SvcError(code, message, defined({ status, hint, at, docs, data, plugin, cause }))
  error.name = name
  if (stack !== undefined) error.stack = stack
  return error
}

/** Returns the value if it can be cloned, else a description of it. */
export function plain(value: unknown): unknown {
  try {
    structuredClone(value)
    return value
  } catch {
    return inspect(value)
  }
}
