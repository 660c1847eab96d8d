import { dashboardInboxOutput, FAILURE_CLASSES, PREFLIGHT_PROFILES } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { scholarlyErrors } from './errors.ts'
import { JOB_STATES } from './jobs/job.ts'
import { STATUS_MEANINGS } from './status/mapping.ts'

/** Topic that is announced after a job or a submission changed. */
export const SCHOLARLY_TOPIC = 'scholarly.jobs'

const {
  SCH_ADAPTER_UNKNOWN,
  SCH_AUTH_FAILED,
  SCH_CANCEL_REFUSED,
  SCH_CONFIG_INVALID,
  SCH_DATABASE_MISSING,
  SCH_DISABLED,
  SCH_GATE_CLOSED,
  SCH_JOB_UNKNOWN,
  SCH_PREFLIGHT_FAILED,
  SCH_RATE_LIMITED,
  SCH_REFUSED,
  SCH_REPLAY_REFUSED,
  SCH_STAGING_FAILED,
  SCH_SUBMISSION_UNKNOWN,
  SCH_UNREACHABLE
} = scholarlyErrors.specs

const failures = {
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

const time = (description: string) => t.integer({ description: `${description} Milliseconds since 1970.` })
const publicationId = t.string({ minLength: 1, maxLength: 200, description: 'Id of the publication.' })
const adapterName = t.optional(
  t.string({ minLength: 1, maxLength: 100, description: 'Name of the archive. Default: the setting adapter.' })
)
const jobId = t.integer({ minimum: 1, description: 'Id of the job.' })

const job = t.object({
  id: t.integer(),
  publication_id: t.string(),
  content_sha3_256: t.string(),
  adapter: t.string(),
  operation: t.string(),
  status: t.enum(JOB_STATES),
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

const submission = t.object({
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

export const scholarlyAdaptersList = defineOperation({
  id: 'scholarly.adapters',
  summary: 'List archives, and whether they can be used now',
  input: t.object({}),
  output: t.object({
    adapters: t.array(
      t.object({
        name: t.string(),
        aliases: t.array(t.string()),
        summary: t.string(),
        live: t.boolean({ description: 'Whether it sends anything to another machine.' }),
        default: t.boolean({ description: 'Whether it is used if a call names no archive.' }),
        preflight: t.nullable(t.string({ description: 'Profile of checks before a submission.' })),
        state: t.enum(['ready', 'disabled', 'config']),
        problem: t.nullable(t.string({ description: 'Why it cannot be used, and what to do.' }))
      })
    )
  }),
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/scholarly/adapters' },
    rpc: true,
    cli: {
      command: 'scholarly adapters',
      view: { rows: 'adapters', columns: ['name', 'live', 'default', 'state', 'preflight', 'summary', 'problem'] }
    }
  }
})

export const scholarlySubmit = defineOperation({
  id: 'scholarly.submit',
  summary: 'Show what a submission to an archive would do; with submit, do it',
  description:
    'Without submit it is a dry run: nothing is queued or sent. One content is submitted to an archive at most once; a repeated call returns the job.',
  input: t.object({
    publication_id: publicationId,
    adapter: adapterName,
    submit: t.boolean({ default: false, description: 'Whether to submit; else the plan is shown.' }),
    wait: t.boolean({
      default: true,
      description: 'Whether to run the job in this call; else a serving process runs it.'
    })
  }),
  output: t.object({
    ok: t.boolean({ description: 'False if the submission failed.' }),
    dry_run: t.boolean({ description: 'Whether nothing was queued and sent.' }),
    ready: t.boolean({ description: 'Whether nothing prevents the submission.' }),
    adapter: t.string(),
    live: t.boolean(),
    publication_id: t.string(),
    title: t.string(),
    content_sha3_256: t.string(),
    steps: t.array(t.string()),
    files: t.array(t.object({ name: t.string(), bytes: t.integer(), sha3_256: t.string() })),
    gate_codes: t.array(t.string()),
    approvers: t.array(t.string()),
    preflight: t.nullable(
      t.object({
        profile: t.enum(PREFLIGHT_PROFILES),
        ok: t.boolean(),
        readiness_score: t.number(),
        findings: t.array(t.object({ code: t.string(), severity: t.string(), message: t.string() }))
      })
    ),
    problem: t.nullable(
      t.object({ error_class: t.enum(FAILURE_CLASSES), code: t.string(), message: t.string(), hint: t.string() })
    ),
    job: t.nullable(job),
    text: t.string({ description: 'The same for people.' })
  }),
  events: t.object({ file: t.string(), sent_bytes: t.integer(), total_bytes: t.integer() }),
  errors: { ...failures, SCH_GATE_CLOSED },
  timeoutMs: 0,
  expose: {
    http: { method: 'POST', path: '/api/scholarly/submit' },
    mcp: {
      name: 'svc_scientia_submit',
      lane: 'data',
      toolsets: ['scientia'],
      use: 'Shows the plan unless submit is true. Submitting needs the approval of two people, which tools cannot replace.'
    },
    rpc: true,
    cli: { command: 'scholarly submit', args: ['publication_id'], view: { text: 'text', success: 'ok' } }
  }
})

export const scholarlyStatus = defineOperation({
  id: 'scholarly.status',
  summary: 'Ask archives for the status of submissions, and store it',
  input: t.object({
    publication_id: t.optional(publicationId),
    submission: t.optional(
      t.string({ minLength: 1, maxLength: 1_000, description: 'Id of the submission at the archive.' })
    ),
    adapter: t.optional(t.string({ minLength: 1, maxLength: 100, description: 'Only this archive.' })),
    limit: t.integer({ default: 20, minimum: 1, maximum: 100, description: 'Maximum number of submissions.' })
  }),
  output: t.object({
    ok: t.boolean({ description: 'False if a check failed.' }),
    submissions: t.array(submission),
    note: t.string()
  }),
  errors: { ...failures, SCH_SUBMISSION_UNKNOWN },
  timeoutMs: 600_000,
  expose: {
    http: { method: 'POST', path: '/api/scholarly/status' },
    mcp: {
      name: 'svc_scientia_status',
      lane: 'data',
      toolsets: ['scientia'],
      use: 'For submissions that an archive confirmed; svc_scientia_jobs shows those on their way.'
    },
    rpc: true,
    cli: {
      command: 'scholarly status',
      args: ['publication_id'],
      view: {
        rows: 'submissions',
        columns: ['publication_id', 'adapter', 'external_submission_id', 'status', 'outcome', 'doi', 'error_message'],
        note: 'note',
        success: 'ok'
      }
    }
  }
})

export const scholarlySubmissions = defineOperation({
  id: 'scholarly.submissions',
  summary: 'List confirmed submissions without asking their archives',
  input: t.object({
    publication_id: t.optional(publicationId),
    quarantined: t.boolean({ default: false, description: 'Only submissions with an unknown status.' }),
    limit: t.integer({ default: 100, minimum: 1, maximum: 1_000, description: 'Maximum number of submissions.' })
  }),
  output: t.object({ submissions: t.array(submission) }),
  errors: { SCH_DATABASE_MISSING },
  effect: 'read',
  watch: { on: [SCHOLARLY_TOPIC], minMs: 1_000 },
  expose: { http: { method: 'GET', path: '/api/scholarly/submissions' }, rpc: true }
})

export const scholarlyJobs = defineOperation({
  id: 'scholarly.jobs',
  summary: 'List submission jobs, newest first',
  input: t.object({
    status: t.optional(t.enum(JOB_STATES, { description: 'Only jobs in this state.' })),
    publication_id: t.optional(publicationId),
    adapter: t.optional(t.string({ minLength: 1, maxLength: 100, description: 'Only jobs of this archive.' })),
    limit: t.integer({ default: 50, minimum: 1, maximum: 1_000, description: 'Maximum number of jobs.' })
  }),
  output: t.object({ jobs: t.array(job) }),
  errors: { SCH_DATABASE_MISSING },
  effect: 'read',
  watch: { on: [SCHOLARLY_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/scholarly/jobs' },
    mcp: {
      name: 'svc_scientia_jobs',
      lane: 'data',
      toolsets: ['scientia'],
      use: 'For submissions on their way, and why they failed; svc_scientia_status asks the archive.'
    },
    rpc: true,
    cli: {
      command: 'scholarly jobs',
      view: {
        rows: 'jobs',
        columns: [
          'id',
          'publication_id',
          'adapter',
          'status',
          'attempt_count',
          'external_submission_id',
          'last_error_class',
          'last_error_message'
        ]
      }
    }
  }
})

export const scholarlyJob = defineOperation({
  id: 'scholarly.job',
  summary: 'Show a submission job with its attempts',
  input: t.object({ job_id: jobId }),
  output: t.object({
    job,
    attempts: t.array(
      t.object({
        id: t.integer(),
        attempted_at_ms: time('When it began.'),
        outcome: t.string(),
        http_status: t.nullable(t.integer()),
        error_class: t.nullable(t.string()),
        code: t.nullable(t.string()),
        message: t.nullable(t.string()),
        retryable: t.nullable(t.boolean()),
        requests: t.integer({ description: 'Number of HTTP requests.' }),
        request_fingerprint: t.nullable(t.string({ description: 'SHA3-256 of the last request.' })),
        response_fingerprint: t.nullable(t.string({ description: 'SHA3-256 of the last response.' }))
      })
    )
  }),
  errors: { SCH_DATABASE_MISSING, SCH_JOB_UNKNOWN },
  effect: 'read',
  watch: { on: [SCHOLARLY_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/scholarly/jobs/:job_id' },
    rpc: true,
    cli: {
      command: 'scholarly job',
      args: ['job_id'],
      view: {
        rows: 'attempts',
        columns: ['id', 'outcome', 'http_status', 'error_class', 'code', 'message', 'requests']
      }
    }
  }
})

export const scholarlyReplay = defineOperation({
  id: 'scholarly.replay',
  summary: 'Queue a failed job again',
  description:
    'A job whose outcome is unknown needs confirm_absent: a person has looked at the archive and found no entry for this content.',
  input: t.object({
    job_id: jobId,
    confirm_absent: t.boolean({
      default: false,
      description: 'Whether a person found that the archive has no entry; only for jobs whose outcome is unknown.'
    })
  }),
  output: t.object({ job }),
  errors: { SCH_DATABASE_MISSING, SCH_JOB_UNKNOWN, SCH_REPLAY_REFUSED },
  expose: {
    http: { method: 'POST', path: '/api/scholarly/replay' },
    rpc: true,
    cli: {
      command: 'scholarly replay',
      args: ['job_id'],
      view: { fields: ['job.id', 'job.publication_id', 'job.adapter', 'job.status'] }
    }
  }
})

export const scholarlyCancel = defineOperation({
  id: 'scholarly.cancel',
  summary: 'Stop a job that has not ended',
  input: t.object({ job_id: jobId }),
  output: t.object({ job }),
  errors: { SCH_DATABASE_MISSING, SCH_JOB_UNKNOWN, SCH_CANCEL_REFUSED },
  effect: 'destructive',
  expose: {
    http: { method: 'POST', path: '/api/scholarly/cancel' },
    rpc: true,
    cli: {
      command: 'scholarly cancel',
      args: ['job_id'],
      view: { fields: ['job.id', 'job.publication_id', 'job.adapter', 'job.status'] }
    }
  }
})

export const scholarlyRun = defineOperation({
  id: 'scholarly.run',
  summary: 'Run the jobs that are due, as a serving process does',
  input: t.object({
    limit: t.integer({ default: 100, minimum: 1, maximum: 100, description: 'Maximum number of jobs.' })
  }),
  output: t.object({ jobs: t.array(job) }),
  errors: { SCH_DATABASE_MISSING },
  timeoutMs: 0,
  expose: {
    http: { method: 'POST', path: '/api/scholarly/run' },
    rpc: true,
    cli: {
      command: 'scholarly run',
      view: {
        rows: 'jobs',
        columns: ['id', 'publication_id', 'adapter', 'status', 'external_submission_id', 'last_error_message']
      }
    }
  }
})

export const scholarlyDismiss = defineOperation({
  id: 'scholarly.dismiss',
  summary: 'Remove a failed job from the inbox of the console',
  input: t.object({ job_id: jobId }),
  output: t.object({ job }),
  errors: { SCH_DATABASE_MISSING, SCH_JOB_UNKNOWN },
  expose: { rpc: true }
})

export const scholarlyInbox = defineOperation({
  id: 'scholarly.inbox',
  summary: 'List failed jobs and quarantined submissions, for the inbox of the console',
  input: t.object({}),
  output: dashboardInboxOutput,
  effect: 'read',
  watch: { on: [SCHOLARLY_TOPIC], minMs: 1_000 },
  expose: { rpc: true }
})

export const scholarlyStage = defineOperation({
  id: 'scholarly.stage',
  summary: 'Write the files of a submission, with their checksums, into a folder',
  input: t.object({
    publication_id: publicationId,
    out: t.optional(
      t.string({
        minLength: 1,
        maxLength: 4_096,
        description: 'Folder, relative to the project. Default: the setting staging_dir, else a folder of this plugin.'
      })
    )
  }),
  output: t.object({
    folder: t.string(),
    files: t.array(t.object({ name: t.string(), bytes: t.integer(), sha3_256: t.string() }))
  }),
  errors: { SCH_CONFIG_INVALID, SCH_DATABASE_MISSING, SCH_PREFLIGHT_FAILED, SCH_REFUSED, SCH_STAGING_FAILED },
  expose: {
    rpc: true,
    cli: {
      command: 'scholarly stage',
      args: ['publication_id'],
      view: { rows: 'files', columns: ['name', 'bytes', 'sha3_256'], note: 'folder' }
    }
  }
})
