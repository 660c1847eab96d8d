import type { Program } from '@svc/contracts'
import { rowJson, wholeSql } from '../apps/table-rows.ts'
import type { ProgramDatabase } from '../database/program-database.ts'
import { ProgramTables } from '../database/program-tables.ts'
import type { TableShape } from '../database/table-shape.ts'
import { mismatch } from '../wire/mismatch.ts'

/** Maximum rows of a table that are shown, and characters of all of them as JSON. */
const MAX_ROWS = 50
const MAX_CHARACTERS = 500_000
/** Limit of the number of counted rows. */
const MAX_COUNT = 100_000

/** Rows of a table after a run. */
export interface TableRows {
  readonly name: string
  readonly columns: readonly string[]
  /** The first rows, in the JSON form of the program. */
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  /** Number of all rows, at most 100,000. */
  readonly total: number
}

/** Reads the first rows of each table of a program. Throws the errors of the database. */
export function readTables(program: Program, database: ProgramDatabase): TableRows[] {
  // A member of a struct that has a default is required here: no function of the program runs.
  const tables = new ProgramTables(program, () => mismatch('a value', 'nothing'))
  let left = MAX_CHARACTERS
  return program.module.tables.flatMap(({ name }) => {
    const shape = tables.shape(name)
    if (shape === undefined) return []
    const read = readTable(shape, database, left)
    left -= JSON.stringify(read.rows).length
    return [read]
  })
}

function readTable(shape: TableShape, database: ProgramDatabase, maxCharacters: number): TableRows {
  const { name, sql, id, columns } = shape
  const [count] = database.row(name, `SELECT count(*) FROM (SELECT 1 FROM ${sql} LIMIT ${MAX_COUNT})`, []) ?? [0]
  const all = database.rows(name, `SELECT ${wholeSql(shape)} FROM ${sql} ORDER BY ${id.quoted} LIMIT ${MAX_ROWS}`, [])
  const rows: Readonly<Record<string, unknown>>[] = []
  let left = maxCharacters
  for (const row of all) {
    const json = rowJson(shape, row)
    left -= JSON.stringify(json).length
    if (left < 0) break
    rows.push(json)
  }
  return { name, columns: [id.name, ...columns.map(column => column.name)], rows, total: Number(count) }
}
