import type { PublicationManifest, Publications } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import type { AdapterChoice } from '../choice.ts'
import { scholarlyErrors } from '../errors.ts'
import type { JobDecisions } from '../jobs/decisions.ts'
import type { Job } from '../jobs/job.ts'
import type { JobStore } from '../jobs/job-store.ts'
import type { JobRunner } from '../jobs/runner.ts'
import type { Submission, SubmissionStore } from '../status/submission-store.ts'

export interface HandlerParts {
  /** The queue. Throws `SCH_DATABASE_MISSING`. */
  queue(): Queue
  readonly publications: Publications
  readonly choice: AdapterChoice
  mask(text: string): string
  /** Called after a job was queued that this call does not run. */
  queued(): void
  /** Announces changed jobs. */
  changed(): void
}

export interface Queue {
  readonly store: JobStore
  readonly decisions: JobDecisions
  readonly submissions: SubmissionStore
  readonly runner: JobRunner
}

/** Returns a job as callers see it. */
export function jobFields({ metadata, ...job }: Job) {
  return {
    id: job.id,
    publication_id: job.publication_id,
    content_sha3_256: job.content_sha3_256,
    adapter: job.adapter,
    operation: job.operation,
    status: job.status,
    files: [...(metadata.files ?? [])],
    attempt_count: job.attempt_count,
    external_submission_id: metadata.external_submission_id ?? null,
    last_error_class: job.last_error_class,
    last_error_code: metadata.error_code ?? null,
    last_error_message: job.last_error_message,
    next_retry_at_ms: job.next_retry_at_ms,
    lock_owner: job.lock_owner,
    lock_expires_at_ms: job.lock_expires_at_ms,
    created_at_ms: job.created_at_ms,
    updated_at_ms: job.updated_at_ms
  }
}

/** Returns a submission as callers see it. */
export function submissionFields({ metadata, response_fingerprint: _, ...submission }: Submission) {
  const { doi, url } = metadata
  return {
    ...submission,
    quarantined: submission.outcome === 'unknown',
    doi: typeof doi === 'string' ? doi : null,
    url: typeof url === 'string' ? url : null,
    error_class: null,
    error_message: null
  }
}

/** Returns a publication. Throws `SCH_PUBLICATION_UNKNOWN` and `SCH_DATABASE_MISSING`. */
export async function publicationOf(
  { queue, publications }: Pick<HandlerParts, 'queue' | 'publications'>,
  publicationId: string
): Promise<PublicationManifest> {
  queue()
  try {
    return await publications.get(publicationId)
  } catch (error) {
    if (!isSvcError(error, 'PUB_UNKNOWN')) throw error
    throw scholarlyErrors.create('SCH_PUBLICATION_UNKNOWN', `publication ${publicationId} does not exist`, {
      hint: 'svc publication list'
    })
  }
}
