import { errorTable } from '@svc/plugin-sdk'

export const dashboardErrors = errorTable({
  DSH_SESSION_REQUIRED: { message: 'The request does not come from a signed-in page of the console.', status: 401 },
  DSH_SESSION_UNKNOWN: { message: 'No session of the console has that id.', status: 404 },
  DSH_CODE_INVALID: { message: 'The sign-in code is wrong, was used before, or has expired.', status: 401 },
  DSH_TOO_MANY_TRIES: { message: 'Too many wrong sign-in codes came from one address.', status: 429 },
  DSH_TRANSPORT_INSECURE: { message: 'The console was reached over a network without TLS.', status: 403 },
  DSH_ROLE_FORBIDDEN: { message: 'The role of the session does not allow the operation.', status: 403 },
  DSH_READ_ONLY: { message: 'The console is read-only.', status: 403 },
  DSH_CONFIRM_REQUIRED: { message: 'A destructive operation was called without confirmation.', status: 428 },
  DSH_OPERATION_UNKNOWN: { message: 'The serving generation has no operation with that id.', status: 404 },
  DSH_PAGE_MISSING: { message: 'The files of the page were not built.', status: 503 },
  DSH_FILE_UNKNOWN: { message: 'The console has no file with that path.', status: 404 },
  DSH_FRAME_INVALID: { message: 'A message on the stream does not follow the protocol.', status: 400 },
  DSH_NOT_WATCHED: { message: 'The operation declares no topics that announce its changes.', status: 400 },
  DSH_TOO_MANY_SUBSCRIPTIONS: { message: 'The connection has the maximum number of subscriptions.', status: 429 },
  DSH_TOO_MANY_CONNECTIONS: { message: 'The console has the maximum number of open connections.', status: 503 },
  DSH_OUTPUT_TOO_LARGE: { message: 'The output is too large for one message of the stream.', status: 413 },
  DSH_NOT_SERVED: { message: 'No server of this project serves the console.', status: 503 },
  DSH_PUBLIC_URL_INVALID: { message: 'The public address of the console is not usable.', status: 400 },
  DSH_ENTRY_BROKEN: { message: 'A page or another contribution to the console has a mistake.', status: 422 }
})
