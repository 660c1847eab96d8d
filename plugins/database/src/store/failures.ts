import { databaseErrors } from '@svc/contracts'
import { defined, type SvcError } from '@svc/plugin-sdk'
import { placeIn } from '../sql/scan.ts'
import type { BoundStatement, SqlFailure } from '../worker/protocol.ts'

type Code = keyof typeof databaseErrors.specs

/** Codes of the contract by prefix of SQLite's code; the first match is used. */
const CODES: readonly (readonly [string, Code])[] = [
  ['SQLITE_BUSY', 'DBS_BUSY'],
  ['SQLITE_LOCKED', 'DBS_BUSY'],
  ['SQLITE_CONSTRAINT', 'DBS_CONSTRAINT'],
  ['SQLITE_MISMATCH', 'DBS_CONSTRAINT'],
  ['SQLITE_FULL', 'DBS_FULL'],
  ['SQLITE_READONLY', 'DBS_READ_ONLY'],
  ['SQLITE_CORRUPT', 'DBS_CORRUPT'],
  ['SQLITE_NOTADB', 'DBS_CORRUPT'],
  ['SQLITE_CANTOPEN', 'DBS_OPEN_FAILED'],
  ['SQLITE_TOOBIG', 'DBS_VALUE_INVALID'],
  ['SQLITE_RANGE', 'DBS_VALUE_INVALID'],
  ['SQLITE_ABORT', 'DBS_TRANSACTION_ENDED'],
  ['SQLITE_AUTH', 'DBS_STATEMENT_REFUSED'],
  ['SQL_PARSE_ERROR', 'DBS_SYNTAX'],
  ['SQL_INPUT_ERROR', 'DBS_SYNTAX'],
  ['NO_BINDING', 'DBS_NO_BINDING'],
  ['FILE_LOST', 'DBS_FILE_LOST'],
  ['REMOTE_UNAUTHORIZED', 'DBS_UNAUTHORIZED'],
  ['REMOTE_', 'DBS_UNREACHABLE']
]

const CONSTRAINTS: Readonly<Record<string, string>> = {
  UNIQUE: 'unique',
  PRIMARYKEY: 'primary key',
  ROWID: 'primary key',
  NOTNULL: 'not null',
  CHECK: 'check',
  FOREIGNKEY: 'foreign key',
  TRIGGER: 'trigger'
}

const HINTS: Partial<Record<Code, string>> = {
  DBS_BUSY: 'another process holds the lock; try again, or find it with: fuser FILE',
  DBS_CORRUPT: 'restore a backup: svc db restore FILE',
  DBS_FILE_LOST:
    'changes are rejected, because a restart would lose them; put the file back, or restart with the current file',
  DBS_FULL: 'free some disk space and retry; acknowledged changes are kept',
  DBS_UNAUTHORIZED: 'check that the token belongs to this database, has not expired, and allows writes',
  DBS_OPEN_FAILED: 'check that the folder exists and is writable, or name another file in SVC_DB_PATH',
  DBS_NO_BINDING: 'install the package libsql with its optional dependencies; only in-memory databases work without it'
}

/** Returns the error for a failure. `location` is a path or a URL. */
export function storeError(failure: SqlFailure, location: string, statement?: BoundStatement): SvcError {
  const code = codeOf(failure)
  const { offset, message } = failure
  const place = statement === undefined || offset === null ? undefined : placeIn(statement.sql, offset)
  const where = place === undefined ? '' : ` (line ${place.line}, column ${place.column} of the statement)`
  const hint = HINTS[code]
  return databaseErrors.create(code, `${location}: ${message}${where}`, {
    ...defined({ hint, at: place }),
    data: {
      sqlite: failure.code,
      ...(code === 'DBS_CONSTRAINT' ? constraint(failure) : {}),
      ...(failure.code === 'REMOTE_TIMEOUT' ? { timedOut: true } : {}),
      ...(statement === undefined ? {} : { sql: statement.sql }),
      ...(offset === null ? {} : { offset }),
      ...(failure.statement === undefined ? {} : { statement: failure.statement })
    }
  })
}

function codeOf({ code, compiling, message }: SqlFailure): Code {
  const known = CODES.find(([prefix]) => code.startsWith(prefix))?.[1]
  if (known !== undefined) return known
  // Remote databases do not report where they failed.
  return compiling || /syntax error|^(?:.*: )?no such |incomplete input/.test(message) ? 'DBS_SYNTAX' : 'DBS_FAILED'
}

/**
 * Returns the kind of the violated constraint, and its columns if SQLite names them, as in `UNIQUE constraint failed:
 * users.name, users.place`.
 */
function constraint({ code, message }: SqlFailure): object {
  const kind = CONSTRAINTS[code.replace('SQLITE_CONSTRAINT_', '')] ?? kindIn(message)
  const list = /(?:UNIQUE|NOT NULL|PRIMARY KEY) constraint failed: (.+)$/.exec(message)?.[1]
  return { constraint: kind, columns: list === undefined ? [] : list.split(', ') }
}

function kindIn(message: string): string | null {
  return /(UNIQUE|PRIMARY KEY|NOT NULL|CHECK|FOREIGN KEY) constraint/.exec(message)?.[1]?.toLowerCase() ?? null
}
