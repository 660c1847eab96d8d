import { randomBytes } from 'node:crypto'

const ACCEPTED = /^[A-Za-z0-9._:/+=@-]{1,128}$/
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

const prefix = `${randomBytes(5).toString('hex')}-`
let count = 0

/** The client's id when it is safe to log and to send back; a new one otherwise, unique in this process and among others. */
export function requestIdOf(header: string | string[] | undefined): string {
  if (typeof header === 'string' && ACCEPTED.test(header)) return header
  count += 1
  return prefix + count
}

/** A W3C `traceparent` that is well formed (https://www.w3.org/TR/trace-context); anything else is as if it were absent. */
export function traceparentOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && TRACEPARENT.test(header) ? header : undefined
}
