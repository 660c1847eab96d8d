import { errorTable } from '@svc/plugin-sdk'

/** Codes of the compiler's operations and commands. What is wrong with a program is a diagnostic and has its own codes. */
export const compilerErrors = errorTable({
  CMP_FILE_UNREADABLE: { message: 'A source file cannot be read.', status: 404 },
  CMP_FILE_UNWRITABLE: { message: 'A file cannot be written.', status: 409 },
  CMP_FORMAT_UNSAFE: { message: 'Formatting would have changed what a text means.' },
  CMP_INPUT_AMBIGUOUS: { message: 'A call gives both a text and a file, or neither.', status: 400 },
  CMP_IR_INVALID: { message: 'An IR document does not match its own contract.', status: 500 },
  CMP_PATH_OUTSIDE: { message: 'A path leads out of the project.', status: 403 },
  CMP_SOURCE_INVALID: { message: 'A text has errors, and cannot be formatted or translated.', status: 422 }
})
