import { errorTable } from '@svc/plugin-sdk'

export const secretErrors = errorTable({
  SEC_BACKEND_UNAVAILABLE: { message: 'The selected backend of secrets cannot be used.', status: 503 },
  SEC_BACKEND_UNKNOWN: { message: 'A secret:// reference names a backend that no plugin provides.' },
  SEC_NOT_FOUND: { message: 'The backend has no secret of that name.' },
  SEC_REJECTED: { message: 'A secret exists, but the profile or the phase does not accept its source.', status: 403 },
  SEC_STORE_FAILED: { message: 'The keyring or a file with secrets cannot be read or written.' },
  SEC_UNDECLARED: { message: 'No plugin declares a secret of that id or variable.', status: 404 }
})

/** Errors of `secrets.vault@1`. */
export const vaultErrors = errorTable({
  SEV_CONFLICT: {
    message: 'Other processes changed a secret of the vault at the same time, several times.',
    status: 409
  },
  SEV_DELEGATION_INVALID: {
    message: 'A delegation is unknown, has ended, or does not include the request.',
    status: 403
  },
  SEV_KEY_INVALID: { message: 'The name of a secret is not a valid key of the vault.', status: 400 },
  SEV_LOCATION_INVALID: { message: 'A setting for the vault is not a usable path or URL.', status: 400 },
  SEV_MASTER_MISSING: { message: 'The vault has secrets, but the keyring has no master key for them.', status: 503 },
  SEV_SHARED_FILE: { message: 'The vault and the primary database are the same file.', status: 400 },
  SEV_STORE_FAILED: { message: 'The database of the vault cannot be opened, read or written.', status: 503 },
  SEV_TAMPERED: {
    message: 'A row of the vault is damaged, was changed by another program, or has another master key.'
  },
  SEV_UNKNOWN: { message: 'The vault has no secret of that name.', status: 404 },
  SEV_VALUE_INVALID: { message: 'A value cannot be stored in the vault.', status: 400 },
  SEV_VERSION_UNKNOWN: { message: 'The vault does not keep that version of the secret.', status: 404 }
})
