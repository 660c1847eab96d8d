import { errorTable } from '@svc/plugin-sdk'

export const sessionErrors = errorTable({
  SES_CONTEXT_FULL: {
    message: 'Without a database, the number of context entries is limited.',
    status: 507
  },
  SES_CONTEXT_INVALID: { message: 'A key or value of the shared context cannot be stored.', status: 422 },
  SES_CONTEXT_UNKNOWN: { message: 'The shared context has no entry with this key.', status: 404 },
  SES_JOURNEY_INVALID: { message: 'A journey envelope is not valid.', status: 422 },
  SES_NO_ORCHESTRATOR: {
    message: 'The request needs the orchestrator, which is not running.',
    status: 503
  },
  SES_SESSION_INVALID: { message: 'The name of a session is invalid.', status: 422 },
  SES_SESSION_UNKNOWN: { message: 'The session does not exist.', status: 404 }
})
