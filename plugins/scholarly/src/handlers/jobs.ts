import type { InboxItem, PlannedFile } from '@svc/contracts'
import { type Handler, isSvcError } from '@svc/plugin-sdk'
import { problemText } from '../choice.ts'
import { scholarlyErrors } from '../errors.ts'
import { callerError } from '../failures.ts'
import type { Job } from '../jobs/job.ts'
import { runDueJobs } from '../jobs/worker.ts'
import type {
  scholarlyCancel,
  scholarlyDismiss,
  scholarlyInbox,
  scholarlyJob,
  scholarlyJobs,
  scholarlyReplay,
  scholarlyRun
} from '../operations/jobs.ts'
import type { scholarlyAdapterList } from '../operations/submit.ts'
import { type HandlerParts, jobFields, publicationOf } from './parts.ts'

const MAX_ATTEMPTS_SHOWN = 100
const MAX_INBOX = 50

export function adaptersHandler({ choice, mask }: HandlerParts): Handler<typeof scholarlyAdapterList> {
  return async () => {
    let standard = ''
    try {
      standard = choice.find().name
    } catch (error) {
      if (!isSvcError(error, 'SCH_ADAPTER_UNKNOWN')) throw error
    }
    const adapters = choice.all.map(async adapter => {
      const { name, aliases = [], summary, live, preflight = null } = adapter
      const setting = choice.disabledBy(adapter)
      const problem =
        setting === null
          ? await adapter.problem().catch(error => ({
              failureClass: 'config' as const,
              message: error instanceof Error ? error.message : String(error),
              hint: ''
            }))
          : {
              failureClass: 'disabled' as const,
              message: `disabled by plugins.scholarly.${setting}`,
              hint: 'change the setting'
            }
      const state = problem?.failureClass ?? ('ready' as const)
      const text = problem === null ? null : mask(problemText(problem))
      return { name, aliases: [...aliases], summary, live, default: name === standard, preflight, state, problem: text }
    })
    return { adapters: await Promise.all(adapters) }
  }
}

export function jobsHandler(parts: HandlerParts): Handler<typeof scholarlyJobs> {
  return async ({ status, publication_id, adapter, limit }) => {
    const jobs = await parts.queue().store.list({
      ...(status === undefined ? {} : { status }),
      ...(publication_id === undefined ? {} : { publicationId: publication_id }),
      ...(adapter === undefined ? {} : { adapter }),
      limit
    })
    return { jobs: jobs.map(jobFields) }
  }
}

export function jobHandler(parts: HandlerParts): Handler<typeof scholarlyJob> {
  return async ({ job_id }) => {
    const { store } = parts.queue()
    const job = await store.get(job_id)
    const attempts = await store.attempts(job_id, MAX_ATTEMPTS_SHOWN)
    return {
      job: jobFields(job),
      attempts: attempts.map(({ detail, job_id: _, ...attempt }) => ({
        ...attempt,
        outcome: textOr(detail.outcome, 'unknown'),
        code: textOr(detail.code, null),
        message: textOr(detail.message, null),
        requests: typeof detail.requests === 'number' ? detail.requests : 0
      }))
    }
  }
}

export function replayHandler(parts: HandlerParts): Handler<typeof scholarlyReplay> {
  return async ({ job_id, confirm_absent, new_files }, { signal }) => {
    const { store, decisions } = parts.queue()
    const job = await store.get(job_id)
    const refuse = (reason: string, hint: string) =>
      scholarlyErrors.create('SCH_REPLAY_REFUSED', `job ${job_id}: ${reason}`, { hint })
    if (job.status !== 'failed')
      throw refuse(`its state is ${job.status}; only failed jobs are replayed`, 'svc scholarly jobs')
    if (job.metadata.error_code === 'remote_rejected')
      throw refuse('the archive rejected this content', 'change the publication, then submit the new content')
    if (job.metadata.error_code === 'outcome_unknown' && !confirm_absent)
      throw refuse(
        'it is unknown whether the archive has the submission',
        `look at the archive; if it has the submission: svc scholarly record ${job_id} ID; if not, add --confirm-absent`
      )
    const files = new_files ? await plannedFiles(parts, job, signal) : undefined
    if (!(await decisions.replay(job_id, files))) throw refuse('it changed in between', 'svc scholarly jobs')
    parts.queued()
    parts.changed()
    return { job: jobFields(await store.get(job_id)) }
  }
}

/** Returns the files that a submission would upload now. */
async function plannedFiles(
  parts: HandlerParts,
  { publication_id, adapter }: Job,
  signal: AbortSignal
): Promise<readonly PlannedFile[]> {
  const manifest = await publicationOf(parts, publication_id)
  try {
    const { files } = await parts.choice.find(adapter).plan(manifest, signal)
    return files
  } catch (error) {
    throw callerError(error)
  }
}

export function cancelHandler(parts: HandlerParts): Handler<typeof scholarlyCancel> {
  return async ({ job_id }, { principal }) => {
    const { store, decisions } = parts.queue()
    const { status } = await store.get(job_id)
    if (!(await decisions.cancel(job_id, `cancelled by ${principal.id}`)))
      throw scholarlyErrors.create('SCH_CANCEL_REFUSED', `job ${job_id} has ended: ${status}`, {
        hint: 'only jobs that are queued, running or waiting for a retry can be cancelled'
      })
    parts.changed()
    return { job: jobFields(await store.get(job_id)) }
  }
}

export function dismissHandler(parts: HandlerParts): Handler<typeof scholarlyDismiss> {
  return async ({ job_id }) => {
    const { store, decisions } = parts.queue()
    await decisions.dismiss(job_id)
    parts.changed()
    return { job: jobFields(await store.get(job_id)) }
  }
}

export function runHandler(parts: HandlerParts): Handler<typeof scholarlyRun> {
  return async ({ limit }, { signal }) => {
    const jobs = await runDueJobs({ ...parts.queue(), choice: parts.choice }, signal, limit)
    return { jobs: jobs.map(jobFields) }
  }
}

export function inboxHandler(parts: HandlerParts): Handler<typeof scholarlyInbox> {
  return async () => {
    let queue: ReturnType<HandlerParts['queue']>
    try {
      queue = parts.queue()
    } catch (error) {
      if (isSvcError(error, 'SCH_DATABASE_MISSING')) return { items: [] }
      throw error
    }
    const failed = await queue.store.list({ status: 'failed', limit: MAX_INBOX })
    const quarantined = await queue.submissions.list({ outcomes: ['unknown'], limit: MAX_INBOX })
    const items: InboxItem[] = failed
      .filter(({ metadata }) => metadata.dismissed !== true)
      .map(({ id, publication_id, adapter, metadata, last_error_class, last_error_message, updated_at_ms }) => ({
        id: `job-${id}`,
        kind: 'failure',
        title: `Submission of ${publication_id} to ${adapter} failed`,
        body: `${last_error_class}: ${last_error_message}`,
        since: updated_at_ms,
        link: `/ui/p/scholarly/jobs/${id}`,
        answers: [
          ...(metadata.error_code === 'remote_rejected' ? [] : [replayAnswer(id, metadata.error_code)]),
          { label: 'Dismiss', operation: 'scholarly.dismiss', input: { job_id: id } }
        ]
      }))
    for (const {
      adapter,
      external_submission_id,
      publication_id,
      status,
      checked_at_ms,
      submitted_at_ms
    } of quarantined)
      items.push({
        id: `submission-${adapter}-${external_submission_id}`,
        kind: 'question',
        title: `${adapter} reports an unknown status for ${publication_id}`,
        body: `The status of ${external_submission_id} is "${status}". Look at the archive, then check again.`,
        since: checked_at_ms ?? submitted_at_ms,
        link: '/ui/p/scholarly/submissions',
        answers: [
          {
            label: 'Check again',
            operation: 'scholarly.status',
            input: { submission: external_submission_id, adapter },
            tone: 'primary'
          }
        ]
      })
    return { items: items as never }
  }
}

function replayAnswer(id: number, code: string | undefined) {
  return code === 'outcome_unknown'
    ? {
        label: 'The archive has no entry: submit again',
        operation: 'scholarly.replay',
        input: { job_id: id, confirm_absent: true },
        tone: 'danger' as const
      }
    : { label: 'Replay', operation: 'scholarly.replay', input: { job_id: id }, tone: 'primary' as const }
}

function textOr<A>(value: unknown, other: A): string | A {
  return typeof value === 'string' ? value : other
}
