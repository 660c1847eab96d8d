import { dashboardInboxOutput } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { scholarlyErrors } from '../errors.ts'
import { JOB_STATES } from '../jobs/job.ts'
import { failures, job, jobId, publicationId, SCHOLARLY_TOPIC, time } from './shared.ts'

const {
  SCH_CANCEL_REFUSED,
  SCH_DATABASE_MISSING,
  SCH_JOB_UNKNOWN,
  SCH_PUBLICATION_UNKNOWN,
  SCH_RECORD_REFUSED,
  SCH_REPLAY_REFUSED
} = scholarlyErrors.specs

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
    }),
    new_files: t.boolean({
      default: false,
      description:
        'Whether the files are uploaded as they are now; else only those of the plan when the job was created.'
    })
  }),
  output: t.object({ job }),
  errors: { ...failures, SCH_JOB_UNKNOWN, SCH_PUBLICATION_UNKNOWN, SCH_REPLAY_REFUSED },
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

export const scholarlyRecord = defineOperation({
  id: 'scholarly.record',
  summary: 'Record a submission that you found at the archive',
  description:
    'For a job whose outcome is unknown: asks the archive for the status of the submission, and ends the job with it.',
  input: t.object({
    job_id: jobId,
    submission: t.string({ minLength: 1, maxLength: 1_000, description: 'Id of the submission at the archive.' })
  }),
  output: t.object({ job }),
  errors: { ...failures, SCH_JOB_UNKNOWN, SCH_RECORD_REFUSED },
  timeoutMs: 180_000,
  expose: {
    http: { method: 'POST', path: '/api/scholarly/record' },
    rpc: true,
    cli: {
      command: 'scholarly record',
      args: ['job_id', 'submission'],
      view: { fields: ['job.id', 'job.publication_id', 'job.adapter', 'job.status', 'job.external_submission_id'] }
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
