import { type PublicationLink, RemoteFailure, type ScholarlyAdapter, type SubmissionReceipt } from '@svc/contracts'
import { objectOf } from './job.ts'

const MAX_ID = 1_000
const MAX_STATUS = 200
const MAX_METADATA = 65_536

/** Returns a receipt with the fields that are stored. Throws `RemoteFailure` for one that cannot be stored. */
export function checkedReceipt(
  { external_submission_id, status, response_fingerprint, metadata_json }: SubmissionReceipt,
  { name }: Pick<ScholarlyAdapter, 'name'>,
  mask: (text: string) => string
): SubmissionReceipt {
  const check = (isValid: boolean, field: string): void => {
    if (!isValid)
      throw new RemoteFailure(`${name}: ${field} of the receipt is not usable; check the archive before a replay`, {
        failureClass: 'fatal',
        code: 'outcome_unknown',
        outcomeUnknown: true
      })
  }
  check(isText(external_submission_id, MAX_ID), 'external_submission_id')
  check(isText(status, MAX_STATUS), 'status')
  check(response_fingerprint === undefined || /^[0-9a-f]{64}$/.test(response_fingerprint), 'response_fingerprint')
  check(metadata_json === undefined || isText(metadata_json, MAX_METADATA), 'metadata_json')
  return {
    adapter: name,
    external_submission_id,
    status,
    ...(response_fingerprint === undefined ? {} : { response_fingerprint }),
    ...(metadata_json === undefined ? {} : { metadata_json: mask(JSON.stringify(objectOf(metadata_json))) })
  }
}

/** Returns the identifiers in a receipt: the fields `doi` and `url` of its metadata. */
export function linksOf({ metadata_json }: SubmissionReceipt, source: string): readonly PublicationLink[] {
  const metadata = objectOf(metadata_json)
  return ['doi', 'url'].flatMap(kind => {
    const value = metadata[kind]
    return isText(value, MAX_ID) ? [{ kind, value, source }] : []
  })
}

function isText(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= maxLength
}
