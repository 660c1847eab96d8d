import { errorTable } from '@svc/plugin-sdk'

export const scholarlyErrors = errorTable({
  SCH_ADAPTER_UNKNOWN: { message: 'No archive has that name.', status: 404 },
  SCH_AUTH_FAILED: { message: 'An archive refused the credentials.', status: 502 },
  SCH_CANCEL_REFUSED: { message: 'A job has already ended, so it cannot be cancelled.', status: 409 },
  SCH_CONFIG_INVALID: { message: 'An archive cannot be used with the current settings.', status: 409 },
  SCH_DATABASE_MISSING: { message: 'Submissions need the primary database, which is not available.', status: 503 },
  SCH_DISABLED: { message: 'An archive is disabled by a setting.', status: 409 },
  SCH_GATE_CLOSED: {
    message: 'The publication may not be sent: approvals are missing or sending is not armed.',
    status: 409
  },
  SCH_JOB_UNKNOWN: { message: 'No submission job has that id.', status: 404 },
  SCH_LEASE_LOST: { message: 'Another process has taken over a submission job.', status: 409 },
  SCH_PREFLIGHT_FAILED: { message: 'The publication does not pass the checks of an archive.', status: 422 },
  SCH_PUBLICATION_UNKNOWN: { message: 'No publication has that id.', status: 404 },
  SCH_RATE_LIMITED: { message: 'An archive limits the rate of requests.', status: 503 },
  SCH_RECORD_REFUSED: { message: 'A submission cannot be recorded for a job in its state.', status: 409 },
  SCH_REFUSED: { message: 'An archive refused a request, or its answer is unusable.', status: 502 },
  SCH_REPLAY_REFUSED: { message: 'A job cannot be replayed in its state.', status: 409 },
  SCH_STAGING_FAILED: { message: 'The staging folder cannot be written.', status: 500 },
  SCH_SUBMISSION_UNKNOWN: { message: 'No such submission is recorded.', status: 404 },
  SCH_TOKEN_UNREADABLE: { message: 'The file with the token of an approver cannot be read.', status: 400 },
  SCH_UNREACHABLE: { message: 'An archive is not reachable or failed temporarily.', status: 503 }
})
