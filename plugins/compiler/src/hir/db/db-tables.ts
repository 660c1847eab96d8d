import type { Module } from '../../syntax/ast.ts'
import { Columns } from './columns.ts'

/** Columns of the tables of a module by the names of the tables. Of two with one name the first counts. */
export type DbTables = ReadonlyMap<string, Columns>

export function tablesOf({ items }: Module): DbTables {
  const tables = new Map<string, Columns>()
  for (const item of items) {
    if (item.kind === 'Table' && !tables.has(item.name.text)) tables.set(item.name.text, new Columns(item))
  }
  return tables
}
