import { Tagged, type Value } from '../interpreter/value.ts'

/** Named as in RFC 9110 and RFC 6585. */
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
 * Status of an Error answer: the HTTP status with the name of its variant, otherwise 500.
 */
export function refusalStatus(reason: Value): number {
  return (reason instanceof Tagged ? STATUSES.get(reason.tag) : undefined) ?? 500
}
