import type { Handler } from '@svc/plugin-sdk'
import { scholarlyErrors } from '../errors.ts'
import { callerError } from '../failures.ts'
import type { scholarlyRecord } from '../operations/jobs.ts'
import { askArchive } from '../status/check-status.ts'
import { meaningOf } from '../status/mapping.ts'
import { type HandlerParts, jobFields } from './parts.ts'

/** Ends a job whose outcome is unknown with the submission that a person found. */
export function recordHandler(parts: HandlerParts): Handler<typeof scholarlyRecord> {
  return async ({ job_id, submission }, { principal, signal }) => {
    const { store, decisions, submissions } = parts.queue()
    const job = await store.get(job_id)
    const refuse = (reason: string) =>
      scholarlyErrors.create('SCH_RECORD_REFUSED', `job ${job_id}: ${reason}`, { hint: `svc scholarly job ${job_id}` })
    if (job.status !== 'failed' || job.metadata.error_code !== 'outcome_unknown')
      throw refuse('its outcome is known; only submissions of jobs with an unknown outcome are recorded')
    const adapter = parts.choice.find(job.adapter)
    const known = await submissions.find(adapter.name, submission)
    if (known !== null) throw refuse(`${submission} is already recorded, for ${known.publication_id}`)
    const found = await askArchive(parts, adapter, submission, signal).catch(error => {
      throw callerError(error)
    })
    const outcome = meaningOf(found.status, adapter.intermediateStatuses)
    if (!(await decisions.record(job_id, submission, found.status, outcome))) throw refuse('it changed in between')
    const { publication_id, content_sha3_256 } = job
    await parts.publications.recordAttempt({
      publication_id,
      content_sha3_256,
      channel: `scholarly:${adapter.name}`,
      outcome: { outcome: 'success', job_id, external_submission_id: submission, recorded_by: principal.id },
      attempted_at_ms: Date.now()
    })
    await parts.publications.setState(publication_id, content_sha3_256, found.status, {
      adapter: adapter.name,
      external_submission_id: submission
    })
    const stored = await submissions.find(adapter.name, submission)
    if (stored !== null) await submissions.saveStatus(stored, found, outcome)
    parts.changed()
    return { job: jobFields(await store.get(job_id)) }
  }
}
