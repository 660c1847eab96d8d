import {
  type Column,
  type DashboardPage,
  dashboardActions,
  dashboardInbox,
  dashboardPages,
  type TableView
} from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'

const SUBMISSIONS = 'scholarly/submissions'
const JOB = 'scholarly/jobs/:job_id'
/** Kinds of rows that the actions are for. */
const JOB_ROW = 'scholarly-job'
const SUBMISSION_ROW = 'scholarly-submission'

const jobColumns: readonly Column[] = [
  { field: 'id', title: 'Job', format: 'code' },
  {
    field: 'publication_id',
    title: 'Publication',
    format: 'code',
    link: {
      page: 'publication/publications/:publication_id',
      params: { publication_id: { from: 'row', name: 'publication_id' } }
    }
  },
  { field: 'adapter', title: 'Archive' },
  { field: 'status', title: 'State', format: 'state' },
  { field: 'attempt_count', title: 'Attempts', format: 'number' },
  { field: 'external_submission_id', title: 'Receipt', format: 'code' },
  { field: 'last_error_class', title: 'Class of the error' },
  { field: 'last_error_message', title: 'Error' },
  { field: 'next_retry_at_ms', title: 'Next attempt', format: 'time' },
  { field: 'updated_at_ms', title: 'Changed', format: 'time' }
]

const jobs: TableView = {
  kind: 'table',
  operation: 'scholarly.jobs',
  input: { limit: { value: 500 } },
  rows: 'jobs',
  key: 'id',
  of: JOB_ROW,
  columns: jobColumns,
  filters: [
    {
      name: 'state',
      label: 'State',
      field: 'status',
      choices: ['queued', 'running', 'retryable_failed', 'failed', 'succeeded']
    },
    { name: 'publication', label: 'Publication', field: 'publication_id' },
    { name: 'archive', label: 'Archive', field: 'adapter' }
  ],
  open: { page: JOB, params: { job_id: { from: 'row', name: 'id' } } },
  sort: '-updated_at_ms',
  empty: 'Submissions appear here after: svc scholarly submit PUBLICATION --submit'
}

const submissions = (isQuarantined: boolean): TableView => ({
  kind: 'table',
  operation: 'scholarly.submissions',
  input: { limit: { value: 500 }, quarantined: { value: isQuarantined } },
  rows: 'submissions',
  key: 'external_submission_id',
  of: SUBMISSION_ROW,
  columns: [
    { field: 'publication_id', title: 'Publication', format: 'code' },
    { field: 'adapter', title: 'Archive' },
    { field: 'external_submission_id', title: 'Receipt', format: 'code' },
    { field: 'status', title: 'Status' },
    { field: 'outcome', title: 'Meaning', format: 'state' },
    { field: 'doi', title: 'DOI', format: 'code' },
    { field: 'submitted_at_ms', title: 'Submitted', format: 'time' },
    { field: 'checked_at_ms', title: 'Checked', format: 'time' }
  ],
  empty: isQuarantined
    ? 'No archive has reported a status that svc does not know.'
    : 'No archive has confirmed a submission.'
})

const page: DashboardPage = {
  path: SUBMISSIONS,
  title: 'Submissions',
  summary: 'Publications on their way to archives, and what the archives say about them',
  icon: 'route',
  section: 'build',
  order: 61,
  view: {
    kind: 'tabs',
    items: [
      { title: 'Jobs', view: jobs },
      { title: 'Confirmed', view: submissions(false) },
      { title: 'Quarantined', view: submissions(true) },
      {
        title: 'Archives',
        view: {
          kind: 'table',
          operation: 'scholarly.adapters',
          rows: 'adapters',
          key: 'name',
          columns: [
            { field: 'name', title: 'Archive', format: 'code' },
            { field: 'summary', title: 'What it does' },
            { field: 'live', title: 'On another machine', format: 'boolean' },
            { field: 'default', title: 'Default', format: 'boolean' },
            { field: 'state', title: 'State', format: 'state' },
            { field: 'problem', title: 'Problem' }
          ]
        }
      }
    ]
  }
}

const jobPage: DashboardPage = {
  path: JOB,
  title: 'Submission job',
  icon: 'route',
  section: 'build',
  view: {
    kind: 'stack',
    items: [
      {
        view: {
          kind: 'record',
          operation: 'scholarly.job',
          input: { job_id: { from: 'route', name: 'job_id' } },
          field: 'job',
          name: 'publication_id',
          of: JOB_ROW,
          columns: [
            ...jobColumns,
            { field: 'last_error_code', title: 'Code of the error', format: 'code' },
            { field: 'content_sha3_256', title: 'Digest', format: 'code' },
            { field: 'lock_owner', title: 'Run by', format: 'code' },
            { field: 'created_at_ms', title: 'Queued', format: 'time' }
          ]
        }
      },
      {
        title: 'Attempts',
        view: {
          kind: 'table',
          operation: 'scholarly.job',
          input: { job_id: { from: 'route', name: 'job_id' } },
          rows: 'attempts',
          key: 'id',
          columns: [
            { field: 'attempted_at_ms', title: 'Began', format: 'time' },
            { field: 'outcome', title: 'Outcome', format: 'state' },
            { field: 'http_status', title: 'HTTP status' },
            { field: 'error_class', title: 'Class' },
            { field: 'code', title: 'Code', format: 'code' },
            { field: 'message', title: 'Message' },
            { field: 'requests', title: 'Requests', format: 'number' },
            { field: 'request_fingerprint', title: 'Fingerprint of the request', format: 'code' },
            { field: 'response_fingerprint', title: 'Fingerprint of the response', format: 'code' }
          ],
          empty: 'No attempt yet.'
        }
      }
    ]
  }
}

/** Adds the pages of submissions, their actions, and failed jobs in the inbox. */
export function contributeConsole(ctx: Pick<PluginContext, 'contribute'>): void {
  ctx.contribute(dashboardPages, page, page.title)
  ctx.contribute(dashboardPages, jobPage, jobPage.title)
  ctx.contribute(dashboardInbox, { operation: 'scholarly.inbox' })
  const job = { job_id: { from: 'row', name: 'id' } } as const
  ctx.contribute(dashboardActions, {
    on: JOB_ROW,
    label: 'Replay',
    operation: 'scholarly.replay',
    bind: job,
    ask: ['confirm_absent'],
    when: { field: 'status', in: ['failed'] },
    role: 'operator',
    tone: 'primary'
  })
  ctx.contribute(dashboardActions, {
    on: JOB_ROW,
    label: 'Cancel',
    operation: 'scholarly.cancel',
    bind: job,
    when: { field: 'status', in: ['queued', 'running', 'retryable_failed'] },
    role: 'operator',
    tone: 'danger'
  })
  ctx.contribute(dashboardActions, {
    on: SUBMISSION_ROW,
    label: 'Check status',
    operation: 'scholarly.status',
    bind: {
      submission: { from: 'row', name: 'external_submission_id' },
      adapter: { from: 'row', name: 'adapter' }
    },
    role: 'operator'
  })
}
