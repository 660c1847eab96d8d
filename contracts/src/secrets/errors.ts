import { errorTable } from '@svc/plugin-sdk'

export const secretErrors = errorTable({
  SEC_BACKEND_UNKNOWN: { message: 'A secret:// reference names a backend that no plugin provides.' },
  SEC_NOT_FOUND: { message: 'The backend has no secret of that name.' }
})
