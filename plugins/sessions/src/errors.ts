import { errorTable } from '@svc/plugin-sdk'

export const sessionErrors = errorTable({
  SES_CONTEXT_FULL: {
    message: 'Without a database, the number of context entries is limited.',
    status: 507
  },
  SES_CONTEXT_INVALID: { message: 'A key or a text of the shared context cannot be stored.', status: 422 },
  SES_CONTEXT_UNKNOWN: { message: 'The shared context has no entry with this key.', status: 404 },
  SES_JOURNEY_INVALID: { message: 'A journey envelope is not valid.', status: 422 },
  SES_NO_ORCHESTRATOR: {
    message: 'Only the orchestrator knows the requested data, and it does not run.',
    status: 503
  },
  SES_SESSION_INVALID: { message: 'A session cannot have the name that it was given.', status: 422 },
  SES_SESSION_UNKNOWN: { message: 'There is no session of that name.', status: 404 }
})
