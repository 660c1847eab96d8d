import { newSpanNumber, requestIdOf } from '@svc/plugin-sdk'

const ACCEPTED = /^[A-Za-z0-9._:/+=@-]{1,128}$/

/** Returns the client's id if it is safe to log and return, otherwise null. */
export function acceptedId(header: string | string[] | undefined): string | null {
  return typeof header === 'string' && ACCEPTED.test(header) ? header : null
}

/** Returns the client's id if it is safe to log and return, otherwise a new one with twelve characters. */
export function newRequestId(header: string | string[] | undefined): string {
  return acceptedId(header) ?? requestIdOf(newSpanNumber())
}
