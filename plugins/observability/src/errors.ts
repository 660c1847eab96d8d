import { errorTable } from '@svc/plugin-sdk'

export const observabilityErrors = errorTable({
  OBS_SINCE_INVALID: { message: 'The start of the period is neither a duration nor a time.', status: 400 },
  OBS_TRACE_UNKNOWN: { message: 'No recorded span belongs to that trace or request.', status: 404 },
  OBS_REQUEST_UNKNOWN: { message: 'No recorded request has that id.', status: 404 }
})
