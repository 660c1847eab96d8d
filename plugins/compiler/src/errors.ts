import { errorTable } from '@svc/plugin-sdk'

/** Error codes of the compiler's operations and commands. Problems in a program are diagnostics with separate codes. */
export const compilerErrors = errorTable({
  CMP_BUILD_CONFLICT: { message: 'A build would overwrite a file that it did not write.', status: 409 },
  CMP_FILE_CHANGED: { message: 'A file changed while it was being formatted.', status: 409 },
  CMP_FILE_UNREADABLE: { message: 'A source file cannot be read.', status: 404 },
  CMP_FILE_UNWRITABLE: { message: 'A file cannot be written.', status: 409 },
  CMP_FORMAT_UNSAFE: { message: 'Formatting would have changed the meaning of a program.' },
  CMP_INPUT_AMBIGUOUS: { message: 'The input contains both `source` and `path`, or neither.', status: 400 },
  CMP_IR_INVALID: { message: 'An IR document does not match its schema.', status: 500 },
  CMP_LAYOUT_MISMATCH: {
    message: 'The environment and the project select different build layouts.',
    status: 409
  },
  CMP_LIMIT: { message: 'A source takes too much time or memory to compile.', status: 422 },
  CMP_OPTIONS_CONFLICT: { message: 'Build options conflict with each other.', status: 400 },
  CMP_PATH_OUTSIDE: { message: 'A path is outside the project.', status: 403 },
  CMP_PROJECT_EXISTS: { message: 'A new project would overwrite a file.', status: 409 },
  CMP_SOURCE_INVALID: { message: 'A program has errors, so it cannot be formatted or compiled.', status: 422 },
  CMP_SOURCES_MISSING: { message: 'The folders contain no source files.', status: 404 },
  CMP_TOKENS_INVALID: { message: 'A design token file is invalid.', status: 422 },
  CMP_V0_INVALID: { message: 'A component from v0 does not match the program.', status: 422 },
  CMP_V0_UNAVAILABLE: { message: 'A component cannot be fetched from v0.', status: 502 }
})
