import { errorTable } from '@svc/plugin-sdk'

/** Errors of the daemon plugin. Those of clients are in the contracts. */
export const daemonErrors = errorTable({
  DMN_SOCKET_INVALID: { message: 'The setting for the socket is not a valid address.' },
  DMN_PORT_IN_USE: { message: 'Another process already listens at the address of the daemon.' },
  DMN_REPOSITORY_HELD: { message: 'Another process is already the daemon of this repository.', status: 409 },
  DMN_START_FAILED: { message: 'The daemon ended before it was ready.' },
  DMN_START_TIMEOUT: { message: 'The daemon did not respond in time.', status: 504 },
  DMN_STOP_TIMEOUT: { message: 'The daemon did not end in time.', status: 504 },
  DMN_NOT_HERE: { message: 'The daemon runs on another machine or in another container.', status: 409 },
  DMN_NO_LOG: { message: 'No background daemon was started for this project.', status: 404 },
  DMN_LISTEN_FAILED: { message: 'The daemon could not listen at its address.' },
  DMN_TOKEN_REQUIRED: { message: 'An address that other machines can reach requires a token.' },
  DMN_UNAUTHORIZED: { message: 'The method requires the token of the daemon.', status: 401 },
  DMN_TOO_MANY_TOKENS: { message: 'Too many wrong tokens were sent from one address.', status: 429 },
  DMN_TOO_MANY_CONNECTIONS: { message: 'The daemon has reached its connection limit.', status: 503 },
  DMN_LINE_TOO_LONG: { message: 'A line is longer than the limit.', status: 413 },
  DMN_NOT_UTF8: { message: 'A line is not UTF-8.', status: 400 },
  DMN_NOT_JSON: { message: 'A line is not JSON.', status: 400 },
  DMN_FRAME_INVALID: { message: 'A line is valid JSON but not a valid request.', status: 400 },
  DMN_PARAMS_INVALID: { message: 'The params of a request are not an object.', status: 400 },
  DMN_METHOD_UNKNOWN: { message: 'No method has that name.', status: 404 },
  DMN_HTTP_CLIENT: { message: 'The client speaks HTTP or TLS, not JSON-RPC.', status: 400 },
  DMN_SLOW_READER: { message: 'The client reads too slowly for the events of its call.', status: 503 }
})
