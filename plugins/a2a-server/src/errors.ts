import { errorTable } from '@svc/plugin-sdk'

/** Errors of the A2A server. Clients receive them in the error format of the protocol. */
export const a2aServerErrors = errorTable({
  A2S_BUSY: { message: 'The server has too many open tasks or streams.', status: 429 },
  A2S_CALLBACK_DENIED: { message: 'The URL for push notifications is not allowed.', status: 400 },
  A2S_CALLBACK_FAILED: { message: 'A push notification was not accepted by its receiver.', status: 502 },
  A2S_FORBIDDEN: { message: 'The caller may not do this over A2A.', status: 403 },
  A2S_LOG_INVALID: { message: 'A stored event of an A2A task cannot be read.', status: 500 },
  A2S_NOT_FOUND: { message: 'A path is not part of the REST binding.', status: 404 },
  A2S_SETTINGS_INVALID: { message: 'A setting of the A2A server cannot be used.', status: 500 }
})
