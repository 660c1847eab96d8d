import { createHash } from 'node:crypto'
import type { SqlParameters } from '@svc/contracts'
import type { DesiredTable } from './desired-schema.ts'
import type { ReadDatabase } from './existing-schema.ts'

/** The table that records the tables created by programs, with their declarations. */
export const RECORD_TABLE = 'program_schema'

export const recordStatement = `CREATE TABLE IF NOT EXISTS ${RECORD_TABLE} (
  program TEXT NOT NULL,
  table_name TEXT NOT NULL,
  definition TEXT NOT NULL,
  digest TEXT NOT NULL,
  applied_at TEXT NOT NULL DEFAULT (datetime('now')),
  PRIMARY KEY (program, table_name)
)`

export interface RecordedTable {
  readonly program: string
  readonly table: string
  readonly digest: string
  readonly definition: DesiredTable
}

export async function readRecord(database: ReadDatabase): Promise<RecordedTable[]> {
  const { rows } = await database.query(`SELECT program, table_name, digest, definition FROM ${RECORD_TABLE}`)
  return rows.map(([program, table, digest, definition]) => ({
    program: String(program),
    table: String(table),
    digest: String(digest),
    definition: JSON.parse(String(definition)) as DesiredTable
  }))
}

export function digestOf(table: DesiredTable): string {
  return createHash('sha256').update(JSON.stringify(table)).digest('hex')
}

export interface ParameterisedStatement {
  readonly sql: string
  readonly parameters: SqlParameters
}

export function recordTable(program: string, table: DesiredTable): ParameterisedStatement {
  return {
    sql: `INSERT INTO ${RECORD_TABLE} (program, table_name, definition, digest) VALUES (?, ?, ?, ?)
ON CONFLICT (program, table_name) DO UPDATE
SET definition = excluded.definition, digest = excluded.digest, applied_at = datetime('now')`,
    parameters: [program, table.name, JSON.stringify(table), digestOf(table)]
  }
}

export function forgetTable(program: string, table: string): ParameterisedStatement {
  return { sql: `DELETE FROM ${RECORD_TABLE} WHERE program = ? AND table_name = ?`, parameters: [program, table] }
}
