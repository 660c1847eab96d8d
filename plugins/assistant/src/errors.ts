import { errorTable } from '@svc/plugin-sdk'

export const assistantErrors = errorTable({
  ASI_PROMPT_MISSING: { message: 'A message has neither a prompt nor a message.', status: 400 },
  ASI_CODE_INVALID: { message: 'No answer of the model was a program that the compiler accepts.', status: 422 },
  ASI_COMPILER_MISSING: { message: 'Checking code requires the compiler, which no plugin provides.', status: 503 },
  ASI_EDIT_RANGE: { message: 'The lines to edit are not in the file.', status: 400 },
  ASI_EDIT_INCOMPLETE: { message: 'The answer of the model was cut off, so nothing is edited.', status: 502 },
  ASI_FILE_CHANGED: { message: 'A file was changed while the model worked on it.', status: 409 },
  ASI_NO_DATABASE: { message: 'The project has no database.', status: 503 },
  ASI_PATH_REFUSED: { message: 'Generated code may not be written to that path.', status: 403 },
  ASI_FILE_REFUSED: { message: 'Generated code could not be written.', status: 409 }
})
