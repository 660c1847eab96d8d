import { defineOperation, t } from '@svc/plugin-sdk'
import { scholarlyErrors } from '../errors.ts'
import { failures, publicationId, SCHOLARLY_TOPIC, submission } from './shared.ts'

const { SCH_DATABASE_MISSING, SCH_SUBMISSION_UNKNOWN } = scholarlyErrors.specs

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
