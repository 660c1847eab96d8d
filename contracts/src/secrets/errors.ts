import { errorTable } from '@svc/plugin-sdk'

export const secretErrors = errorTable({
  SEC_BACKEND_UNAVAILABLE: { message: 'The selected backend of secrets cannot be used.', status: 503 },
  SEC_BACKEND_UNKNOWN: { message: 'A secret:// reference names a backend that no plugin provides.' },
  SEC_NOT_FOUND: { message: 'The backend has no secret of that name.' },
  SEC_REJECTED: { message: 'A secret exists, but the profile or the phase does not accept its source.', status: 403 },
  SEC_STORE_FAILED: { message: 'The keyring or a file with secrets cannot be read or written.' },
  SEC_UNDECLARED: { message: 'No plugin declares a secret of that id or variable.', status: 404 }
})
