import {
  type PublicationManifest,
  type Publications,
  RemoteClient,
  RemoteFailure,
  type ScholarlyAdapter,
  type SubmissionReceipt,
  type UploadProgress
} from '@svc/contracts'
import { errorMessage, isSvcError, LinkedSignal, type Logger } from '@svc/plugin-sdk'
import { type AdapterChoice, problemText } from '../choice.ts'
import { failed, jobFailure } from '../failures.ts'
import type { Settings } from '../settings.ts'
import { meaningOf } from '../status/mapping.ts'
import type { SubmissionStore } from '../status/submission-store.ts'
import { checkSubmission, gateText, preflightText } from './checks.ts'
import { Exchanges } from './exchanges.ts'
import { GATE_MS, type Job, type JobFailure } from './job.ts'
import type { ClaimedJob, JobStore } from './job-store.ts'
import { Lease } from './lease.ts'
import { checkedReceipt, linksOf } from './receipt.ts'

const MAX_CHECKPOINT_CHARACTERS = 262_144

export interface RunParts {
  readonly store: JobStore
  readonly submissions: SubmissionStore
  readonly publications: Publications
  readonly choice: AdapterChoice
  readonly settings: () => Settings
  readonly log: Logger
  /** Replaces known secrets in a text. */
  mask(text: string): string
}

export interface RunOptions {
  /** Ends the run; the job continues later. */
  readonly signal: AbortSignal
  readonly onProgress?: (event: UploadProgress) => void
}

/**
 * Runs a claimed job and stores its outcome. Does not throw for failures of the archive. When the lock is lost, nothing
 * is stored: the outcome belongs to the process that took over.
 */
export async function runJob(parts: RunParts, claim: ClaimedJob, options: RunOptions): Promise<void> {
  const ttlMs = parts.settings().job_lock_ttl_seconds * 1_000
  const lease = new Lease(parts.store, claim, ttlMs)
  const linked = new LinkedSignal().with(options.signal).with(lease.signal)
  const exchanges = new Exchanges()
  try {
    const failure = await attempt(parts, claim, { ...options, signal: linked.signal, lease, exchanges, ttlMs }).catch(
      error => {
        if (lease.signal.aborted || isSvcError(error, 'SCH_LEASE_LOST')) throw error
        if (options.signal.aborted) return INTERRUPTED
        const failure = jobFailure(error)
        if (failure.code === 'unexpected')
          parts.log.error('an archive failed unexpectedly', { job: claim.job.id, error })
        return failure
      }
    )
    if (failure !== null) await storeFailure(parts, claim, failure, exchanges)
  } catch (error) {
    parts.log.warn('a submission job was given up', { job: claim.job.id, reason: parts.mask(errorMessage(error)) })
  } finally {
    linked.close()
    lease.close()
  }
}

const INTERRUPTED: JobFailure = {
  failureClass: 'transient',
  code: 'interrupted',
  message: 'the run was interrupted; it continues with the next one',
  retryInMs: 0,
  counts: false
}

interface Attempt extends RunOptions {
  readonly lease: Lease
  readonly exchanges: Exchanges
  readonly ttlMs: number
}

/** Returns why the job has not succeeded, or null if it has. */
async function attempt(parts: RunParts, claim: ClaimedJob, run: Attempt): Promise<JobFailure | null> {
  const { job } = claim
  const { publications, choice } = parts
  if (claim.receipt !== null) return finish(parts, claim, claim.receipt, run)
  const manifest = await publications.get(job.publication_id)
  if (manifest.content_sha3_256 !== job.content_sha3_256)
    return failed(
      'fatal',
      'digest_changed',
      `${job.publication_id}: the content changed after the job was created; submit the new content`
    )
  if (job.operation !== 'submit')
    return failed('fatal', 'operation_unknown', `job ${job.id}: operation ${job.operation} is unknown; cancel the job`)
  const limit = parts.settings().max_attempts
  if (attemptsOf(job) > limit)
    return failed(
      'fatal',
      'attempts_exhausted',
      `job ${job.id}: ${limit} attempts ended without an outcome; check the archive, then replay`
    )
  let adapter: ScholarlyAdapter
  try {
    adapter = choice.find(job.adapter)
  } catch (error) {
    return failed('config', 'adapter_unknown', errorMessage(error))
  }
  const closed = await closedBy(parts, manifest, adapter)
  if (closed !== null) return closed
  const receipt = checkedReceipt(await submit(parts, claim, adapter, manifest, run), adapter, parts.mask)
  await parts.store.saveReceipt(claim, receipt, run.ttlMs, run.exchanges.report())
  return finish(parts, claim, receipt, run)
}

/** Returns what prevents the submission now, or null. */
async function closedBy(
  { choice, publications }: RunParts,
  manifest: PublicationManifest,
  adapter: ScholarlyAdapter
): Promise<JobFailure | null> {
  const setting = choice.disabledBy(adapter)
  if (setting !== null)
    return waiting('disabled', `${adapter.name}: disabled by the setting plugins.scholarly.${setting}`)
  const { codes, preflight } = await checkSubmission(publications, manifest, adapter)
  const [code] = codes
  if (code !== undefined) return waiting(code, `${manifest.publication_id}: ${gateText(codes)}`)
  if (preflight?.ok === false) return failed('preflight', 'preflight', preflightText(preflight))
  const problem = await adapter.problem()
  if (problem === null) return null
  const message = `${adapter.name}: ${problemText(problem)}`
  return problem.failureClass === 'disabled' ? waiting('disabled', message) : failed('config', 'problem', message)
}

function waiting(code: string, message: string): JobFailure {
  return { failureClass: 'disabled', code, message, retryInMs: GATE_MS, counts: false }
}

function submit(
  parts: RunParts,
  claim: ClaimedJob,
  adapter: ScholarlyAdapter,
  manifest: PublicationManifest,
  { signal, lease, exchanges, ttlMs, onProgress }: Attempt
): Promise<SubmissionReceipt> {
  const attempts = adapter.httpAttempts?.()
  return adapter.submit(manifest, {
    signal,
    http: new RemoteClient({
      service: adapter.name,
      signal,
      ...(attempts === undefined ? {} : { attempts }),
      // A process that was stopped must not send after another one took over its job.
      beforeAttempt: async method => {
        if (method !== 'GET') await lease.renew()
      },
      record: exchanges.record
    }),
    checkpoint: claim.checkpoint,
    ...(claim.job.metadata.files === undefined ? {} : { plannedFiles: claim.job.metadata.files }),
    async saveCheckpoint(checkpoint) {
      signal.throwIfAborted()
      const text = JSON.stringify(checkpoint)
      if (text.length > MAX_CHECKPOINT_CHARACTERS || parts.mask(text) !== text)
        throw new RemoteFailure(
          `${adapter.name}: the checkpoint is too large or contains a credential; report this defect`,
          {
            failureClass: 'fatal',
            code: 'checkpoint_invalid'
          }
        )
      await parts.store.saveCheckpoint(claim, checkpoint, ttlMs, exchanges.report())
    },
    progress: event => onProgress?.(event)
  })
}

/** Reports the receipt to the publication, then ends the job. Repeated after the end of a process in between. */
async function finish(
  { store, submissions, publications, choice }: RunParts,
  claim: ClaimedJob,
  receipt: SubmissionReceipt,
  { exchanges }: Attempt
): Promise<JobFailure | null> {
  const { job } = claim
  const { publication_id, content_sha3_256, adapter } = job
  const { external_submission_id, status } = receipt
  const known = await submissions.find(adapter, external_submission_id)
  if (known !== null && known.content_sha3_256 !== content_sha3_256)
    return failed(
      'fatal',
      'external_id_conflict',
      `${adapter}: ${external_submission_id} is already the submission of ${known.publication_id} with another content; check the archive`
    )
  await publications.recordAttempt({
    publication_id,
    content_sha3_256,
    channel: `scholarly:${adapter}`,
    outcome: { outcome: 'success', job_id: job.id, external_submission_id, status },
    attempted_at_ms: Date.now()
  })
  for (const link of linksOf(receipt, adapter)) await publications.addLink(publication_id, content_sha3_256, link)
  await publications.setState(publication_id, content_sha3_256, status, {
    adapter,
    external_submission_id,
    job_id: job.id
  })
  const intermediate = choice.all.find(({ name }) => name === adapter)?.intermediateStatuses ?? []
  await store.succeed(claim, receipt, meaningOf(status, intermediate), exchanges.report())
  return null
}

async function storeFailure(
  { store, publications, settings, mask }: RunParts,
  claim: ClaimedJob,
  failure: JobFailure,
  exchanges: Exchanges
): Promise<void> {
  const { job } = claim
  const isLast = failure.counts && failure.retryInMs !== null && attemptsOf(job) >= settings().max_attempts
  const message = isLast ? `${failure.message}; this was attempt ${attemptsOf(job)}, the last one` : failure.message
  const stored = { ...failure, message: mask(message), retryInMs: isLast ? null : failure.retryInMs }
  // Also of a run that was interrupted: the archive may have received something. Before the job ends, so that a process
  // that is killed in between leaves no time in which the approvals can be revoked.
  if (failure.counts || exchanges.count > 0)
    await publications.recordAttempt({
      publication_id: job.publication_id,
      content_sha3_256: job.content_sha3_256,
      channel: `scholarly:${job.adapter}`,
      outcome: {
        outcome: 'failed',
        job_id: job.id,
        error_class: stored.failureClass,
        code: stored.code,
        message: stored.message,
        retryable: stored.retryInMs !== null
      },
      attempted_at_ms: Date.now()
    })
  await store.fail(claim, stored, exchanges.report())
}

/** Attempts since the job was created or replayed. */
function attemptsOf({ attempt_count, metadata }: Job): number {
  return attempt_count - (metadata.attempts_before_replay ?? 0)
}
