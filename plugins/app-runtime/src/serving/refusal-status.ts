import { Tagged, type Value } from '../interpreter/value.ts'

/** By the names that RFC 9110 and RFC 6585 give them. */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ['BadRequest', 400],
  ['Unauthorized', 401],
  ['PaymentRequired', 402],
  ['Forbidden', 403],
  ['NotFound', 404],
  ['Conflict', 409],
  ['Gone', 410],
  ['PreconditionFailed', 412],
  ['ContentTooLarge', 413],
  ['UnprocessableContent', 422],
  ['Locked', 423],
  ['TooManyRequests', 429],
  ['NotImplemented', 501],
  ['ServiceUnavailable', 503]
])

/**
 * The status of an answer that is an Error: that of HTTP whose name the alternative has that is in it, and 500 for every
 * other one.
 */
export function refusalStatus(reason: Value): number {
  return (reason instanceof Tagged ? STATUSES.get(reason.tag) : undefined) ?? 500
}
