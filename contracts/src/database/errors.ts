import { errorTable } from '@svc/plugin-sdk'

/** Error codes of every store. */
export const databaseErrors = errorTable({
  DBS_BACKUP_FAILED: { message: 'A copy of a database could not be written.', status: 500 },
  DBS_BUSY: { message: 'Another writer held the lock of a database for too long.', status: 503 },
  DBS_CLOSED: { message: 'A database is closed.', status: 503 },
  DBS_CONSTRAINT: { message: 'A change violates a constraint of the schema.', status: 409 },
  DBS_CORRUPT: { message: 'A file is not a database, or is damaged.', status: 500 },
  DBS_FAILED: { message: 'A statement failed.', status: 500 },
  DBS_FILE_LOST: { message: 'The file of an open database was removed, replaced or overwritten.', status: 503 },
  DBS_FULL: { message: 'The disk or the database is full.', status: 507 },
  DBS_LOST: { message: 'The thread of a database ended during a call, which may have taken effect.', status: 503 },
  DBS_NESTED: { message: 'A store was used inside its open transaction.', status: 500 },
  DBS_NO_BINDING: { message: 'The native binding of the database is not installed.', status: 501 },
  DBS_OPEN_FAILED: { message: 'A database could not be opened.', status: 503 },
  DBS_READ_ONLY: { message: 'A database, or a query, is read-only.', status: 403 },
  DBS_STATEMENT_REFUSED: { message: 'The caller may not run this statement.', status: 400 },
  DBS_SYNTAX: { message: 'A statement has a syntax error, or names something that does not exist.', status: 400 },
  DBS_TRANSACTION_ENDED: { message: 'A transaction was used after its end.', status: 409 },
  DBS_UNAUTHORIZED: { message: 'A remote database does not accept the token.', status: 502 },
  DBS_UNREACHABLE: { message: 'A remote database does not respond.', status: 503 },
  DBS_UNSUPPORTED: { message: 'A database does not support the request.', status: 501 },
  DBS_VALUE_INVALID: { message: 'A parameter is missing, surplus, or of a type that no column can hold.', status: 400 }
})
