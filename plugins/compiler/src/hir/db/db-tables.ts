import type { Module, Table } from '../../syntax/ast.ts'

/** Tables of a module by their names. Of two with one name the first counts. */
export type DbTables = ReadonlyMap<string, Table>

export function tablesOf({ items }: Module): DbTables {
  const tables = new Map<string, Table>()
  for (const item of items) if (item.kind === 'Table' && !tables.has(item.name.text)) tables.set(item.name.text, item)
  return tables
}
