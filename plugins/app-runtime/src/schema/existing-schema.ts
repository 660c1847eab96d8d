import type { SqlParameters, SqlResult } from '@svc/contracts'
import { RECORD_TABLE, type RecordedTable, readRecord } from './recorded-schema.ts'
import { CHANGES_TABLE } from './triggers.ts'

/** A store or one of its transactions. */
export interface ReadDatabase {
  query(sql: string, parameters?: SqlParameters): Promise<SqlResult>
}

export interface ExistingColumn {
  readonly name: string
  readonly type: string
  readonly nullable: boolean
  readonly default: string | null
}

export interface ExistingTable {
  readonly name: string
  /** Without `_id`. */
  readonly columns: readonly ExistingColumn[]
  /** True if the primary key is `_id INTEGER … AUTOINCREMENT`. */
  readonly isKeyed: boolean
  /** SQL of indexes and triggers by name, without SQLite's internal ones. */
  readonly objects: ReadonlyMap<string, { readonly type: 'index' | 'trigger'; readonly sql: string }>
}

export interface ExistingSchema {
  readonly tables: ReadonlyMap<string, ExistingTable>
  /** SQL of the virtual tables by name. */
  readonly virtual: ReadonlyMap<string, string>
  /** Used names, in lower case. */
  readonly names: ReadonlySet<string>
  readonly record: readonly RecordedTable[]
  readonly hasRecord: boolean
  readonly hasChanges: boolean
}

/** Reads the existing tables that are `wanted` or were created by programs. */
export async function existingSchema(database: ReadDatabase, requested: readonly string[]): Promise<ExistingSchema> {
  const master = (await database.query('SELECT type, name, tbl_name, sql FROM sqlite_master')).rows.map(
    ([type, name, table, sql]) => ({ type, name: String(name), table: String(table).toLowerCase(), sql })
  )
  const names = new Set(master.map(({ name }) => name.toLowerCase()))
  const hasRecord = names.has(RECORD_TABLE)
  const record = hasRecord ? await readRecord(database) : []
  const wantedNames = new Set([...requested, ...record.map(({ table }) => table)])
  const plain = master.filter(({ type, name }) => type === 'table' && wantedNames.has(name.toLowerCase()))
  const columns = await readColumns(
    database,
    plain.map(({ name }) => name)
  )
  const tables = new Map(
    plain.map(({ name, sql }) => {
      const all = columns.get(name) ?? []
      const key = all.find(column => column.pk > 0)
      const objects = master.flatMap(object =>
        object.table === name.toLowerCase() && typeof object.sql === 'string' && isObject(object.type)
          ? [[object.name, { type: object.type, sql: object.sql }] as const]
          : []
      )
      const table: ExistingTable = {
        name,
        columns: all.filter(({ pk }) => pk === 0),
        isKeyed:
          key?.name === '_id' &&
          key.type.toUpperCase() === 'INTEGER' &&
          /\bAUTOINCREMENT\b/i.test(String(sql)) &&
          all.filter(({ pk }) => pk > 0).length === 1,
        objects: new Map(objects)
      }
      return [name.toLowerCase(), table]
    })
  )
  const virtual = master.flatMap(({ name, sql }) =>
    typeof sql === 'string' && /^CREATE VIRTUAL TABLE/i.test(sql) ? [[name, sql] as const] : []
  )
  return { tables, virtual: new Map(virtual), names, record, hasRecord, hasChanges: names.has(CHANGES_TABLE) }
}

function isObject(type: unknown): type is 'index' | 'trigger' {
  return type === 'index' || type === 'trigger'
}

async function readColumns(
  database: ReadDatabase,
  tables: readonly string[]
): Promise<Map<string, (ExistingColumn & { readonly pk: number })[]>> {
  const columns = new Map<string, (ExistingColumn & { readonly pk: number })[]>()
  if (tables.length === 0) return columns
  const { rows } = await database.query(
    `SELECT input.value, x.name, x.type, x."notnull", x.dflt_value, x.pk
FROM json_each(?) AS input JOIN pragma_table_xinfo(input.value) AS x ORDER BY input.key, x.cid`,
    [JSON.stringify(tables)]
  )
  for (const [table, name, type, notNull, standard, pk] of rows) {
    const list = columns.get(String(table)) ?? []
    list.push({
      name: String(name),
      type: String(type),
      nullable: notNull === 0,
      default: standard === null ? null : String(standard),
      pk: Number(pk)
    })
    columns.set(String(table), list)
  }
  return columns
}
