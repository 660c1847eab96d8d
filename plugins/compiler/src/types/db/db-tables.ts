import type { Module } from '../../syntax/ast.ts'
import { Columns } from './columns.ts'

/** Columns by table name, for the tables of a module. The first table of a name counts. */
export type DbTables = ReadonlyMap<string, Columns>

export function tablesOf({ items }: Module): DbTables {
  const tables = new Map<string, Columns>()
  for (const item of items) {
    if (item.kind === 'Table' && !tables.has(item.name.text)) tables.set(item.name.text, new Columns(item))
  }
  return tables
}
