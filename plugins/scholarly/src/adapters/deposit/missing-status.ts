import type { RemoteStatus } from '@svc/contracts'

/**
 * Returns the status of an entry that cannot be read. `not_found` is quarantined: a deleted draft, but also an entry of
 * another host, such as after the sandbox was switched off.
 */
export function missingStatus(httpStatus: 404 | 410, detail: Readonly<Record<string, string>>): RemoteStatus {
  return { status: httpStatus === 410 ? 'withdrawn' : 'not_found', detail_json: JSON.stringify(detail) }
}
