import { errorTable } from '@svc/plugin-sdk'

export const observabilityErrors = errorTable({
  OBS_SINCE_INVALID: { message: 'The start of the period is neither a duration nor a time.', status: 400 }
})
