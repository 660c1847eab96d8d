import { FAILURE_CLASSES } from '@svc/contracts'
import { t } from '@svc/plugin-sdk'
import { scholarlyErrors } from '../errors.ts'
import { JOB_STATES } from '../jobs/job.ts'
import { STATUS_MEANINGS } from '../status/mapping.ts'

/** Topic that is announced after a job or a submission changed. */
export const SCHOLARLY_TOPIC = 'scholarly.jobs'

const {
  SCH_ADAPTER_UNKNOWN,
  SCH_AUTH_FAILED,
  SCH_CONFIG_INVALID,
  SCH_DATABASE_MISSING,
  SCH_DISABLED,
  SCH_PREFLIGHT_FAILED,
  SCH_RATE_LIMITED,
  SCH_REFUSED,
  SCH_UNREACHABLE
} = scholarlyErrors.specs

/** Errors of calls that reach an archive. */
export const failures = {
  SCH_ADAPTER_UNKNOWN,
  SCH_AUTH_FAILED,
  SCH_CONFIG_INVALID,
  SCH_DATABASE_MISSING,
  SCH_DISABLED,
  SCH_PREFLIGHT_FAILED,
  SCH_RATE_LIMITED,
  SCH_REFUSED,
  SCH_UNREACHABLE
}

export const time = (description: string) => t.integer({ description: `${description} Milliseconds since 1970.` })
export const publicationId = t.string({ minLength: 1, maxLength: 200, description: 'Id of the publication.' })
export const adapterName = t.optional(
  t.string({ minLength: 1, maxLength: 100, description: 'Name of the archive. Default: the setting adapter.' })
)
export const jobId = t.integer({ minimum: 1, description: 'Id of the job.' })

export const job = t.object({
  id: t.integer(),
  publication_id: t.string(),
  content_sha3_256: t.string(),
  adapter: t.string(),
  operation: t.string(),
  status: t.enum(JOB_STATES),
  files: t.array(t.object({ name: t.string(), bytes: t.integer(), sha3_256: t.string() }), {
    description: 'Files of the plan when the job was created. No others are uploaded.'
  }),
  attempt_count: t.integer(),
  external_submission_id: t.nullable(t.string()),
  last_error_class: t.nullable(t.string()),
  last_error_code: t.nullable(t.string()),
  last_error_message: t.nullable(t.string()),
  next_retry_at_ms: t.nullable(time('Earliest next attempt.')),
  lock_owner: t.nullable(t.string({ description: 'Process that runs the job.' })),
  lock_expires_at_ms: t.nullable(time('When another process may take over.')),
  created_at_ms: time('When it was queued.'),
  updated_at_ms: time('Last change.')
})

export const submission = t.object({
  adapter: t.string(),
  external_submission_id: t.string(),
  publication_id: t.string(),
  content_sha3_256: t.string(),
  job_id: t.nullable(t.integer()),
  status: t.string({ description: 'Last status in the words of the archive.' }),
  outcome: t.enum(STATUS_MEANINGS, { description: 'Meaning of the status. unknown: quarantined.' }),
  quarantined: t.boolean({ description: 'Whether the archive reported a status that svc does not know.' }),
  doi: t.nullable(t.string()),
  url: t.nullable(t.string()),
  submitted_at_ms: time('When the archive confirmed it.'),
  checked_at_ms: t.nullable(time('Last status check.')),
  error_class: t.nullable(t.enum(FAILURE_CLASSES)),
  error_message: t.nullable(t.string({ description: 'Why this status check failed.' }))
})
