import { errorTable } from '@svc/plugin-sdk'

export const telemetryErrors = errorTable({
  TEL_OFF: { message: 'Telemetry is switched off, so nothing is queued or uploaded.', status: 409 },
  TEL_PAYLOAD_INVALID: { message: 'A payload for the upload queue is not an object, or is too large.', status: 400 },
  TEL_SPOOL_FAILED: { message: 'The upload queue cannot be read or written.', status: 500 },
  TEL_SPOOL_FULL: { message: 'The upload queue has reached its limit.', status: 409 },
  TEL_UPLOAD_URL: { message: 'The URL of the upload is missing or is not an HTTPS URL.', status: 400 }
})
