import type { Module } from '../../syntax/ast.ts'
import { aliasesOf, Columns } from './columns.ts'

/** Columns by table name, for the tables of a module. The first table of a name counts. */
export type DbTables = ReadonlyMap<string, Columns>

export function tablesOf(module: Module): DbTables {
  const tables = new Map<string, Columns>()
  const aliases = aliasesOf(module)
  for (const item of module.items) {
    if (item.kind === 'Table' && !tables.has(item.name.text)) tables.set(item.name.text, new Columns(item, aliases))
  }
  return tables
}
