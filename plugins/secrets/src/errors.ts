import { errorTable } from '@svc/plugin-sdk'

export const commandErrors = errorTable({
  SES_ABORTED: { message: 'The user ended the prompt.' },
  SES_FILE_INVALID: { message: 'A file with secrets cannot be parsed.', status: 422 },
  SES_INPUT_INVALID: { message: 'No secret was entered, or it is too long.', status: 400 },
  SES_NO_VAULT: { message: 'The vault of secrets is not available.', status: 503 },
  SES_NOT_STORABLE: { message: 'The secret must not be stored there.', status: 409 },
  SES_NOTHING_CHOSEN: { message: 'The command was called without the option that chooses its work.', status: 400 }
})
