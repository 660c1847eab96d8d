import { errorTable } from '@svc/plugin-sdk'

/** Errors that a client of the daemon can meet before an operation's own errors. */
export const daemonClientErrors = errorTable({
  DMN_UNREACHABLE: { message: 'Nothing listens where the daemon should be.', status: 503 },
  DMN_CONNECTION_LOST: { message: 'The connection ended before the answer came.', status: 502 },
  DMN_BAD_ANSWER: { message: 'What answered does not speak the daemon protocol.', status: 502 }
})
