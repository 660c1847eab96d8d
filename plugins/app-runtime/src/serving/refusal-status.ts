import { Tagged, type Value } from '../interpreter/value.ts'

/** HTTP statuses by name, as in RFC 9110 and RFC 6585. */
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

/** Returns the status of an Error: the HTTP status that its variant names, otherwise 500. */
export function refusalStatus(reason: Value): number {
  return (reason instanceof Tagged ? STATUSES.get(reason.tag) : undefined) ?? 500
}
