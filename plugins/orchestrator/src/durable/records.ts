import type { SqlStatement } from '@svc/contracts'
import type { RecordKind, RecordSource } from '../state/changes.ts'
import type { StateStore } from './state-store.ts'

/** Maximum records of one database query. */
const PAGE = 2_000
/** Prefix of stored values whose JSON is neither an object nor an array. */
const SCALAR = '{"":'
/** Keys that need no escaping in JSON, which is most of them. */
const PLAIN = /^[\w:./ -]*$/
/** Lone surrogates and control characters such as U+0000. */
const UNFIT = /\p{Surrogate}|\p{Cc}/u
/** Kind of records for rows that a table rejected; they are not part of the state. */
export const REJECTED_ROW = 'rejected_row'

export interface StoredRecord {
  readonly kind: RecordKind
  readonly key: string
  readonly json: string
}

/**
 * Returns statements that update the records of a seat: one per kind with changed records, and one per kind with
 * deleted ones. All values of a statement are in one JSON parameter, which the database parses once.
 */
export function recordStatements(
  source: RecordSource,
  repositoryId: string,
  seat: number,
  dirty: Iterable<string>
): SqlStatement[] {
  const kinds = new Map<string, { set: string; deleted: string }>()
  for (const name of dirty) {
    const at = name.indexOf('/')
    const kind = name.slice(0, at)
    const key = name.slice(at + 1)
    let group = kinds.get(kind)
    if (group === undefined) {
      group = { set: '', deleted: '' }
      kinds.set(kind, group)
    }
    const json = source.serialise(kind as RecordKind, key)
    const stored = PLAIN.test(key) ? `"${key}"` : JSON.stringify(storedKey(key))
    // V8 concatenates strings lazily, so the parts are copied only once.
    if (json === null) group.deleted += group.deleted === '' ? stored : `,${stored}`
    else {
      if (group.set !== '') group.set += ','
      group.set += isComposite(json) ? `${stored}:${json}` : `${stored}:${SCALAR}${json}}`
    }
  }
  const statements: SqlStatement[] = []
  for (const [kind, { set, deleted }] of kinds) {
    if (deleted !== '')
      statements.push({
        sql: `DELETE FROM orchestrator_records WHERE repository_id = ? AND seat = ? AND kind = ?
          AND key IN (SELECT value FROM json_each(?))`,
        parameters: [repositoryId, seat, kind, `[${deleted}]`]
      })
    if (set !== '') statements.push(setRecords(repositoryId, seat, kind, `{${set}}`))
  }
  return statements
}

/** Returns a statement that writes records of one kind. `values`: JSON object from key to an object or array. */
export function setRecords(repositoryId: string, seat: number, kind: string, values: string): SqlStatement {
  return {
    sql: `INSERT INTO orchestrator_records (repository_id, seat, kind, key, value)
      SELECT ?, ?, ?, key, value FROM json_each(?) WHERE true
      ON CONFLICT (repository_id, seat, kind, key) DO UPDATE SET value = excluded.value`,
    parameters: [repositoryId, seat, kind, values]
  }
}

/** Reads all records of a seat, ordered by kind and key. */
export async function* readRecords(
  store: StateStore,
  repositoryId: string,
  seat: number
): AsyncGenerator<StoredRecord> {
  let last: readonly [kind: string, key: string] = ['', '']
  for (;;) {
    const { rows } = await store.query(
      `SELECT kind, key, value FROM orchestrator_records
       WHERE repository_id = ? AND seat = ? AND (kind, key) > (?, ?) ORDER BY kind, key LIMIT ?`,
      [repositoryId, seat, ...last, PAGE]
    )
    for (const [kind, key, value] of rows) {
      if (kind !== REJECTED_ROW)
        yield { kind: kind as RecordKind, key: originalKey(String(key)), json: originalJson(String(value)) }
    }
    const end = rows.at(-1)
    if (end === undefined || rows.length < PAGE) return
    last = [String(end[0]), String(end[1])]
  }
}

/** Encodes a key as a JSON string if a column cannot store it unchanged, or if it looks like an encoded key. */
function storedKey(key: string): string {
  return key.startsWith('"') || UNFIT.test(key) ? JSON.stringify(key) : key
}

function originalKey(stored: string): string {
  return stored.startsWith('"') ? JSON.parse(stored) : stored
}

function isComposite(json: string): boolean {
  return (json.startsWith('{') && !json.startsWith(SCALAR)) || json.startsWith('[')
}

/** Returns the JSON of a record from its stored value. */
export function originalJson(stored: string): string {
  return stored.startsWith(SCALAR) ? stored.slice(SCALAR.length, -1) : stored
}
