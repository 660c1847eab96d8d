import { RemoteFailure } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'

/** Returns a field of a parsed answer by its path; undefined if there is none. */
export function fieldAt(value: unknown, ...path: readonly (string | number)[]): unknown {
  let at = value
  for (const key of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined
    at = (at as Record<string | number, unknown>)[key]
  }
  return at
}

/** Returns a text of a parsed answer, or null. */
export function textAt(value: unknown, ...path: readonly (string | number)[]): string | null {
  const found = fieldAt(value, ...path)
  return typeof found === 'string' && found !== '' ? found : null
}

/** Returns a list of a parsed answer; empty if there is none. */
export function listAt(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = fieldAt(value, ...path)
  return Array.isArray(found) ? found : []
}

/** Returns the failure of an answer that reports success but does not name what was created. */
export function answerIncomplete(service: string, missing: string): RemoteFailure {
  return new RemoteFailure(`${service}: the answer has no ${missing}; svc looks for the post before it sends again`, {
    failureClass: 'transient',
    code: 'answer_invalid',
    outcomeUnknown: true
  })
}

/** Returns the same failure, with or without an unknown outcome. */
export function withOutcome(failure: RemoteFailure, outcomeUnknown: boolean): RemoteFailure {
  const { message, failureClass, code, httpStatus, retryAfterMs } = failure
  return new RemoteFailure(message, { failureClass, code, outcomeUnknown, ...defined({ httpStatus, retryAfterMs }) })
}

/**
 * Returns the name of an error that a service reports as part of a code, in lower case. Other texts than names become
 * `other`: a service could repeat a credential there.
 */
export function codeOf(prefix: string, name: string): string {
  return `${prefix}_${/^[A-Za-z_]{2,60}$/.test(name) ? name.toLowerCase() : 'other'}`
}

/** Returns an address below the base address of a service. */
export function addressOf(base: string, path: string): string {
  return `${base.replace(/\/+$/, '')}${path}`
}
