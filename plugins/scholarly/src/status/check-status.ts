import {
  type Publications,
  RemoteClient,
  RemoteFailure,
  type RemoteStatus,
  type ScholarlyAdapter
} from '@svc/contracts'
import { errorMessage, type Logger, limitedSignal } from '@svc/plugin-sdk'
import type { AdapterChoice } from '../choice.ts'
import { objectOf } from '../jobs/job.ts'
import { meaningOf, type StatusMeaning } from './mapping.ts'
import type { Submission, SubmissionStore } from './submission-store.ts'

const TIMEOUT_MS = 120_000
const MAX_DETAIL = 65_536
const MAX_STATUS = 200
/** Submissions that one round of the background checks. */
const MAX_CHECKED = 20

export interface StatusParts {
  readonly submissions: SubmissionStore
  readonly publications: Publications
  readonly choice: AdapterChoice
  mask(text: string): string
  changed(): void
}

/**
 * Asks the archive for the status of a submission, and stores it. Throws `RemoteFailure` and `SCH_ADAPTER_UNKNOWN`;
 * then nothing has changed.
 */
export async function checkStatus(
  parts: StatusParts,
  submission: Submission,
  signal: AbortSignal
): Promise<{ readonly status: string; readonly outcome: StatusMeaning }> {
  const { choice, submissions, publications } = parts
  const { publication_id, content_sha3_256, external_submission_id } = submission
  const adapter = choice.find(submission.adapter)
  const found = await askArchive(parts, adapter, external_submission_id, signal)
  const outcome = meaningOf(found.status, adapter.intermediateStatuses)
  // Before the row of the submission, so that it is repeated if the process ends in between.
  if ((outcome === 'accepted' || outcome === 'rejected') && found.status !== submission.status)
    await publications.setState(publication_id, content_sha3_256, found.status, {
      adapter: adapter.name,
      external_submission_id
    })
  await submissions.saveStatus(submission, found, outcome)
  parts.changed()
  return { status: found.status, outcome }
}

/** Returns the status that the archive reports for a submission. Throws `RemoteFailure`. */
export async function askArchive(
  { choice, mask }: Pick<StatusParts, 'choice' | 'mask'>,
  adapter: ScholarlyAdapter,
  externalSubmissionId: string,
  signal: AbortSignal
): Promise<RemoteStatus> {
  choice.checkEnabled(adapter)
  const limited = limitedSignal(signal, TIMEOUT_MS)
  const attempts = adapter.httpAttempts?.()
  const http = new RemoteClient({
    service: adapter.name,
    signal: limited,
    ...(attempts === undefined ? {} : { attempts })
  })
  const answer = await adapter.fetchStatus(externalSubmissionId, { signal: limited, http }).catch(error => {
    if (!limited.aborted || signal.aborted) throw error
    throw new RemoteFailure(`${adapter.name}: no status within ${TIMEOUT_MS} ms; try again later`, {
      failureClass: 'transient',
      code: 'timeout'
    })
  })
  return checkedStatus(adapter.name, answer, mask)
}

/** Checks the undecided submissions to archives on other machines that were checked longest ago. */
export async function checkUndecided(parts: StatusParts, log: Logger, signal: AbortSignal): Promise<void> {
  const { submissions, choice } = parts
  const live = new Map(choice.all.filter(each => each.live).map(each => [each.name, each]))
  const undecided = await submissions.list({
    outcomes: ['pending', 'unknown'],
    adapters: [...live.keys()],
    oldestCheckFirst: true,
    limit: MAX_CHECKED
  })
  for (const submission of undecided) {
    if (signal.aborted) return
    const adapter = live.get(submission.adapter)
    if (adapter === undefined || choice.disabledBy(adapter) !== null) continue
    try {
      await checkStatus(parts, submission, signal)
    } catch (error) {
      if (signal.aborted) return
      const { adapter: name, external_submission_id } = submission
      await submissions.markChecked(submission)
      log.warn('the status of a submission could not be checked', {
        adapter: name,
        submission: external_submission_id,
        reason: parts.mask(errorMessage(error))
      })
    }
  }
}

function checkedStatus(
  adapter: string,
  { status, detail_json }: RemoteStatus,
  mask: (text: string) => string
): RemoteStatus {
  const isDetail = detail_json === undefined || (typeof detail_json === 'string' && detail_json.length <= MAX_DETAIL)
  if (typeof status !== 'string' || status.trim() === '' || status.length > MAX_STATUS || !isDetail)
    throw new RemoteFailure(`${adapter}: the status is not usable; check the submission at the archive`, {
      failureClass: 'fatal',
      code: 'answer_invalid'
    })
  return detail_json === undefined ? { status } : { status, detail_json: mask(JSON.stringify(objectOf(detail_json))) }
}
