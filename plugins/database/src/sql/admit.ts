import { databaseErrors, type SqlParameters } from '@svc/contracts'
import type { BoundStatement } from '../worker/protocol.ts'
import { placeIn, type ScannedStatement, scan } from './scan.ts'
import { bindParameters } from './values.ts'

/** Hints by first keyword, for statements that would interfere with other writers or access other files. */
const REFUSED: Readonly<Record<string, string>> = {
  BEGIN: 'use transaction()',
  COMMIT: 'use transaction()',
  END: 'use transaction()',
  ROLLBACK: 'use transaction()',
  SAVEPOINT: 'use transaction()',
  RELEASE: 'use transaction()',
  ATTACH: 'open the other file as a separate store',
  DETACH: 'open the other file as a separate store'
}
/** Keywords that write. All others read, or are invalid in SQLite. */
const WRITING = new Set('ALTER ANALYZE CREATE DELETE DROP INSERT REINDEX REPLACE UPDATE VACUUM'.split(' '))
/** Pragmas that only read, even with an argument. */
const READING = new Set(
  'TABLE_INFO TABLE_XINFO TABLE_LIST INDEX_LIST INDEX_INFO INDEX_XINFO FOREIGN_KEY_LIST FOREIGN_KEY_CHECK INTEGRITY_CHECK QUICK_CHECK'.split(
    ' '
  )
)
/** Pragmas that store a value in the file; the owner of the schema may set them. */
const OWNED = new Set(['USER_VERSION', 'APPLICATION_ID'])
const SCHEMAS = new Set(['MAIN', 'TEMP'])
const MAX_SCANNED = 512

export interface AdmittedStatement extends BoundStatement {
  /** True for a statement that cannot run in a transaction. */
  readonly standalone: boolean
}

const scanned = new Map<string, ScannedStatement>()

/** Scans a statement, with a cache: scanning costs more than a lookup. */
function scanOnce(sql: string): ScannedStatement {
  const known = scanned.get(sql)
  if (known !== undefined) return known
  if (scanned.size >= MAX_SCANNED) scanned.clear()
  const found = scan(sql)
  scanned.set(sql, found)
  return found
}

/**
 * Checks a statement before it reaches an engine. Throws `DBS_SYNTAX`, `DBS_STATEMENT_REFUSED`, `DBS_VALUE_INVALID`,
 * and, if `reads` is true, `DBS_READ_ONLY` for a write.
 */
export function admit(sql: string, parameters: SqlParameters | undefined, reads: boolean): AdmittedStatement {
  if (typeof sql !== 'string') throw refusal('DBS_SYNTAX', `a statement must be a string, found ${typeof sql}`, '')
  const found = scanOnce(sql)
  const { keyword, verb, second } = found
  if (keyword === '') throw refusal('DBS_SYNTAX', 'the string contains no statement', sql)
  if (second !== null) {
    const at = placeIn(sql, second)
    throw refusal('DBS_STATEMENT_REFUSED', `a second statement begins at line ${at.line}, column ${at.column}`, sql, {
      at,
      hint: 'run one statement at a time, or several with batch()'
    })
  }
  const hint = REFUSED[keyword]
  if (hint !== undefined) throw refusal('DBS_STATEMENT_REFUSED', `${keyword} is not allowed here`, sql, { hint })
  if (keyword === 'PRAGMA') checkPragma(sql, found, reads)
  else if (reads && WRITING.has(verb)) throw refusal('DBS_READ_ONLY', `a query must only read, and ${verb} writes`, sql)
  if (keyword === 'VACUUM' && found.words.includes('INTO'))
    throw refusal('DBS_STATEMENT_REFUSED', 'VACUUM INTO writes another file', sql, { hint: 'use backup()' })
  return { sql, values: bindParameters(sql, found, parameters), verb, standalone: keyword === 'VACUUM' }
}

/** Throws `DBS_STATEMENT_REFUSED` if a statement cannot run in a transaction. */
export function assertTransactional(statement: AdmittedStatement): AdmittedStatement {
  if (!statement.standalone) return statement
  throw databaseErrors.create('DBS_STATEMENT_REFUSED', `${statement.verb} cannot run in a transaction`, {
    hint: 'run it with execute()',
    data: { sql: statement.sql }
  })
}

/** Throws for a pragma that changes a connection: the store configures all connections in the same way. */
function checkPragma(sql: string, { words, assigns }: ScannedStatement, reads: boolean): void {
  const name = (SCHEMAS.has(words[1] ?? '') ? words[2] : words[1]) ?? ''
  if (!assigns || READING.has(name)) return
  if (OWNED.has(name) && !reads) return
  throw refusal('DBS_STATEMENT_REFUSED', `PRAGMA ${name.toLowerCase()} changes a setting of the connection`, sql)
}

/** Splits a script into statements, each with the index at which it begins. */
export function splitScript(script: string): readonly { readonly sql: string; readonly at: number }[] {
  const statements: { sql: string; at: number }[] = []
  for (let at = 0; at < script.length; ) {
    const { keyword, second } = scan(script.slice(at))
    const end = second === null ? script.length : at + second
    if (keyword !== '') statements.push({ sql: script.slice(at, end), at })
    at = end
  }
  return statements
}

function refusal(
  code: 'DBS_SYNTAX' | 'DBS_STATEMENT_REFUSED' | 'DBS_READ_ONLY',
  message: string,
  sql: string,
  details: { readonly hint?: string; readonly at?: { readonly line: number; readonly column: number } } = {}
): Error {
  return databaseErrors.create(code, message, { ...details, data: { sql } })
}
