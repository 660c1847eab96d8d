import { FILE_TRIGGER_SUFFIX, FILES_TABLE } from '../storage/file-tables.ts'
import type { DesiredObject } from './desired-schema.ts'
import { quoted, searchTableName, textLiteral } from './names.ts'

/** The table that records changes of rows for subscribers. */
export const CHANGES_TABLE = 'program_changes'
/** Number of stored changes. */
const KEPT_CHANGES = 100_000
/** The oldest changes are removed once per this many changes. */
const TRIM_INTERVAL = 1_000

/** SQL of the change table. Ids increase in commit order, because writers are serialised, and are never reused. */
export const changesStatements: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS ${CHANGES_TABLE} (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  table_name TEXT NOT NULL,
  op TEXT NOT NULL,
  row_id INTEGER NOT NULL,
  at INTEGER NOT NULL
)`,
  `CREATE TRIGGER IF NOT EXISTS ${CHANGES_TABLE}_trim AFTER INSERT ON ${CHANGES_TABLE}
WHEN NEW.id % ${TRIM_INTERVAL} = 0 BEGIN
  DELETE FROM ${CHANGES_TABLE} WHERE id <= NEW.id - ${KEPT_CHANGES};
END`
]

const OPERATIONS = ['insert', 'update', 'delete'] as const

/** Returns triggers that record each change of a row, in its transaction. */
export function liveTriggers(table: string): DesiredObject[] {
  return OPERATIONS.map(operation => {
    const row = operation === 'delete' ? 'OLD' : 'NEW'
    const values = `${textLiteral(table)}, '${operation}', ${row}."_id", CAST(unixepoch('subsec') * 1000 AS INTEGER)`
    const body = `INSERT INTO ${CHANGES_TABLE} (table_name, op, row_id, at) VALUES (${values});`
    return trigger(table, `${table}_live_${operation}`, operation.toUpperCase(), body)
  })
}

/** Returns triggers that keep the full-text table of a table up to date. */
export function searchTriggers(table: string, columns: readonly string[]): DesiredObject[] {
  const search = quoted(searchTableName(table))
  const list = columns.map(quoted).join(', ')
  const values = (row: 'OLD' | 'NEW'): string =>
    [`${row}."_id"`, ...columns.map(name => `${row}.${quoted(name)}`)].join(', ')
  // The full-text table stores no content, so a removal must pass the old values.
  const remove = `INSERT INTO ${search} (${search}, rowid, ${list}) VALUES ('delete', ${values('OLD')});`
  const add = `INSERT INTO ${search} (rowid, ${list}) VALUES (${values('NEW')});`
  return [
    trigger(table, `${table}_fts_on_insert`, 'INSERT', add),
    trigger(table, `${table}_fts_on_update`, `UPDATE OF ${list}`, `${remove}\n  ${add}`),
    trigger(table, `${table}_fts_on_delete`, 'DELETE', remove)
  ]
}

/** Returns triggers that refuse a row whose column refers to a file that does not exist. */
export function fileTriggers(table: string, columns: readonly string[]): DesiredObject[] {
  return columns.flatMap(column => {
    const value = `NEW.${quoted(column)}`
    const isKnown = `EXISTS (SELECT 1 FROM ${FILES_TABLE} WHERE id = ${value})`
    const message = textLiteral(`${column} must be a stored file`)
    const body = `SELECT RAISE(ABORT, ${message}) WHERE ${value} IS NOT NULL AND NOT ${isKnown};`
    return [
      trigger(table, `${table}_${column}${FILE_TRIGGER_SUFFIX}`, 'INSERT', body),
      trigger(table, `${table}_${column}_file_on_update`, `UPDATE OF ${quoted(column)}`, body)
    ]
  })
}

/** Returns a trigger. `event` is SQL: `INSERT`, `UPDATE OF "title"`. */
function trigger(table: string, name: string, event: string, body: string): DesiredObject {
  const sql = `CREATE TRIGGER ${quoted(name)} AFTER ${event} ON ${quoted(table)} BEGIN\n  ${body}\nEND`
  return { type: 'trigger', name, sql }
}
