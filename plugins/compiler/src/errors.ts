import { errorTable } from '@svc/plugin-sdk'

/** Codes of the compiler's operations and commands. Problems in a program are diagnostics, with their own codes. */
export const compilerErrors = errorTable({
  CMP_BUILD_CONFLICT: { message: 'A build would overwrite a file that it did not write.', status: 409 },
  CMP_FILE_CHANGED: { message: 'A file changed while it was being formatted.', status: 409 },
  CMP_FILE_UNREADABLE: { message: 'A source file cannot be read.', status: 404 },
  CMP_FILE_UNWRITABLE: { message: 'A file cannot be written.', status: 409 },
  CMP_FORMAT_UNSAFE: { message: 'Formatting would have changed the meaning of a text.' },
  CMP_INPUT_AMBIGUOUS: { message: 'A call gives both a text and a file, or neither.', status: 400 },
  CMP_IR_INVALID: { message: 'An IR document does not match its own contract.', status: 500 },
  CMP_LAYOUT_MISMATCH: {
    message: 'The environment and the project ask for different layouts of a build.',
    status: 409
  },
  CMP_OPTIONS_CONFLICT: { message: 'Options of a build exclude each other.', status: 400 },
  CMP_PATH_OUTSIDE: { message: 'A path leads out of the project.', status: 403 },
  CMP_PROJECT_EXISTS: { message: 'There is a file where a new project would write one.', status: 409 },
  CMP_SOURCE_INVALID: { message: 'A text has errors, and cannot be formatted or translated.', status: 422 },
  CMP_SOURCES_MISSING: { message: 'The given folders contain no source files.', status: 404 },
  CMP_TOKENS_INVALID: { message: 'A file of design tokens cannot be used.', status: 422 },
  CMP_V0_INVALID: { message: 'A component from v0 does not match the program.', status: 422 },
  CMP_V0_UNAVAILABLE: { message: 'A component cannot be fetched from v0.', status: 502 }
})
