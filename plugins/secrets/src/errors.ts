import { errorTable } from '@svc/plugin-sdk'

export const commandErrors = errorTable({
  SCR_ABORTED: { message: 'The user ended the prompt.' },
  SCR_FILE_INVALID: { message: 'A file with secrets cannot be parsed.', status: 422 },
  SCR_INPUT_INVALID: { message: 'No secret was entered, or it is too long.', status: 400 },
  SCR_NO_VAULT: { message: 'The vault of secrets is not available.', status: 503 },
  SCR_NOT_STORABLE: { message: 'The secret must not be stored there.', status: 409 },
  SCR_NOTHING_CHOSEN: { message: 'The command was called without the option that chooses its work.', status: 400 }
})
