import { errorTable } from '@svc/plugin-sdk'

/** Errors of programs, at the start and during the run. */
export const runErrors = errorTable({
  RUN_ACTOR_BUSY: {
    message: 'An actor called itself, possibly through other actors, and would deadlock.',
    status: 409
  },
  RUN_ARGUMENTS: { message: 'A function was called with arguments that it does not accept.', status: 400 },
  RUN_ASSERTION: { message: 'An assertion or a condition of a function failed.', status: 422 },
  RUN_AUTH_UNAVAILABLE: { message: 'A guard of a program cannot check its callers.', status: 503 },
  RUN_BODY: { message: 'The body of a request does not match the program.', status: 400 },
  RUN_BUSY: { message: 'A program has too many waiting calls.', status: 503 },
  RUN_CANCELLED: { message: 'The caller stopped the program.', status: 499 },
  RUN_CAPABILITY_DENIED: { message: 'A program used a capability that it was not granted.', status: 403 },
  RUN_CONSTRAINT: { message: 'A change would break a constraint of a table.', status: 409 },
  RUN_CRASHED: { message: 'The thread of a program ended without a result.', status: 500 },
  RUN_CURSOR: { message: 'A cursor does not belong to the requested rows.', status: 400 },
  RUN_DATABASE: { message: 'The database rejected an operation of a program.', status: 500 },
  RUN_DATABASE_BUSY: { message: 'A program could not use the database in time.', status: 503 },
  RUN_DATABASE_FULL: { message: 'The database has no space for a change.', status: 507 },
  RUN_DIVISION_BY_ZERO: { message: 'A program divided by zero.', status: 422 },
  RUN_FILE_TOO_LARGE: { message: 'An uploaded file is larger than allowed.', status: 413 },
  RUN_FILE_TYPE: { message: 'An uploaded file has a type that is not accepted.', status: 415 },
  RUN_FILE_UNKNOWN: { message: 'There is no such stored file.', status: 404 },
  RUN_FILE_URL: { message: 'The signature of the path of a file is wrong or has expired.', status: 403 },
  RUN_FORBIDDEN: {
    message: 'A caller lacks a role or scope, or a row rule does not allow the operation.',
    status: 403
  },
  RUN_HOST_FAILED: { message: 'A host function of a program failed.', status: 500 },
  RUN_HTTP_FAILED: { message: 'A request to another server got no response.', status: 502 },
  RUN_INDEX: { message: 'A list, a str or a record has no such element.', status: 422 },
  RUN_LIVE_GONE: { message: 'Changes that a client has not seen are no longer recorded.', status: 410 },
  RUN_LIVE_SLOW: { message: 'A client reads more slowly than changes arrive.', status: 503 },
  RUN_LIVE_UNKNOWN: { message: 'A program has no live topic or query with this name.', status: 404 },
  RUN_MEDIA_TYPE: { message: 'The body of a request is not JSON.', status: 415 },
  RUN_MEMORY_LIMIT: { message: 'A program exceeded its memory limit.', status: 413 },
  RUN_MESH_FAILED: { message: 'A step on another machine has failed, or had no answer in time.', status: 502 },
  RUN_NOT_FOUND: { message: 'A served program has no route or file for the requested path.', status: 404 },
  RUN_METHOD: { message: 'A route of a program does not accept this HTTP method.', status: 405 },
  RUN_NO_MAIN: { message: 'A program has no function main.', status: 422 },
  RUN_NO_MATCH: { message: 'No arm of a match matches the value.', status: 422 },
  RUN_OVERFLOW: { message: 'The result of a calculation exceeds 64 bits.', status: 422 },
  RUN_PAGES_INVALID: { message: 'The pages of a program have errors.', status: 422 },
  RUN_PANIC: { message: 'A program panicked.', status: 422 },
  RUN_PROGRAM_INVALID: { message: 'The program to be served has errors.', status: 422 },
  RUN_RATE_LIMITED: { message: 'A caller exceeded a rate limit of a function.', status: 429 },
  RUN_REFUSED: { message: 'A function of a program returned an Error.', status: 500 },
  RUN_RESULT: { message: 'The result of a function does not have its declared type.', status: 500 },
  RUN_SCHEMA_LOSSY: { message: 'A migration of the tables of a program would lose data.', status: 409 },
  RUN_SCHEMA_REFUSED: { message: 'A database cannot have the tables that a program declares.', status: 409 },
  RUN_STACK_LIMIT: { message: 'Nested calls exceed the maximum depth.', status: 422 },
  RUN_STORAGE: { message: 'The storage of files failed.', status: 500 },
  RUN_STORAGE_FULL: { message: 'The storage of files has no space.', status: 507 },
  RUN_STEP_LIMIT: { message: 'A program exceeded its step limit.', status: 413 },
  RUN_TIME_LIMIT: { message: 'A program exceeded its time limit.', status: 504 },
  RUN_TOKEN_UNKNOWN: { message: 'There is no such API key.', status: 404 },
  RUN_TYPE: { message: 'A value does not have the type that its use requires.', status: 422 },
  RUN_UNAUTHORIZED: { message: 'A caller has not proven an identity that a function needs.', status: 401 },
  RUN_UNDEFINED: { message: 'A program uses a name that is not defined.', status: 422 },
  RUN_UNSUPPORTED: { message: 'A program uses something that cannot be run here.', status: 501 },
  RUN_WORKFLOW_CHANGED: { message: 'A workflow does not repeat the recorded steps of its run.', status: 409 },
  RUN_WORKFLOW_FAILED: { message: 'A run of a workflow has failed or was cancelled.', status: 422 },
  RUN_WORKFLOW_LOST: { message: 'A run was cancelled, or another process has claimed it.', status: 409 },
  RUN_WORKFLOW_PENDING: {
    message: 'A workflow run exceeds the time limit of its caller, and continues without it.',
    status: 503
  },
  RUN_WORKFLOW_TOO_LONG: {
    message: 'A run has too many steps; workflow.continue_as_new begins again without them.',
    status: 413
  },
  RUN_WORKFLOW_TRANSACTION: { message: 'A transaction cannot wait for a workflow.', status: 409 },
  RUN_WORKFLOW_UNKNOWN: { message: 'There is no such workflow, or no such run.', status: 404 },
  RUN_WORKFLOW_UNREPEATABLE: {
    message: 'A workflow body calls a non-deterministic function.',
    status: 422
  }
})

export type RunErrorCode = keyof typeof runErrors.specs

/** Errors of the operations on a served program. */
export const appErrors = errorTable({
  APP_COLUMN_UNKNOWN: { message: 'A table of a served program has no such column.', status: 400 },
  APP_CURSOR_INVALID: { message: 'A cursor does not belong to the requested rows.', status: 400 },
  APP_NO_DATABASE: { message: 'A served program has no database.', status: 409 },
  APP_NO_SERVER: { message: 'No running process serves a program of the project.', status: 404 },
  APP_NOT_SERVED: { message: 'A program is not served, because it could not be started.', status: 503 },
  APP_REQUEST_FAILED: { message: 'The listener of a served program did not answer a request.', status: 502 },
  APP_REQUEST_INVALID: { message: 'A request to a served program has an invalid path, header or body.', status: 400 },
  APP_ROW_CHANGED: { message: 'A row was changed since it was read.', status: 409 },
  APP_ROW_UNKNOWN: { message: 'A table of a served program has no such row.', status: 404 },
  APP_TABLE_UNKNOWN: { message: 'A served program has no such table.', status: 404 },
  APP_UNKNOWN: { message: 'No program of this name is served.', status: 404 },
  APP_VALUE_INVALID: { message: 'A value does not have the type of its column.', status: 400 }
})
