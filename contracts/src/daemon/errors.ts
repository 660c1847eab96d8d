import { errorTable } from '@svc/plugin-sdk'

/** Connection and protocol errors of daemon clients; errors of operations have their own codes. */
export const daemonClientErrors = errorTable({
  DMN_UNREACHABLE: { message: 'Nothing listens at the address of the daemon.', status: 503 },
  DMN_CONNECTION_LOST: { message: 'The connection ended before the response arrived.', status: 502 },
  DMN_BAD_ANSWER: { message: 'The server at this address does not speak the daemon protocol.', status: 502 }
})
