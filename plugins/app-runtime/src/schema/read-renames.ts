import { runErrors } from '../errors.ts'
import { tableName } from './names.ts'
import type { Renames } from './plan.ts'

/**
 * Parses `Note=Memo` and `Memo.title=heading`. A column follows the new name of its table. Throws `RUN_ARGUMENTS`.
 */
export function readRenames(renames: readonly string[]): Renames {
  const tables = new Map<string, string>()
  const columns = new Map<string, Map<string, string>>()
  for (const each of renames) {
    const [, table, column, name] = /^(\w+)(?:\.(\w+))?=(\w+)$/.exec(each) ?? []
    if (table === undefined || name === undefined)
      throw runErrors.create('RUN_ARGUMENTS', `--rename ${each} is not a rename`, {
        hint: 'write --rename Note.title=heading for a column, --rename Note=Memo for a table'
      })
    if (column === undefined) tables.set(table, name)
    else {
      const known = columns.get(tableName(table)) ?? new Map<string, string>()
      columns.set(tableName(table), known.set(column.toLowerCase(), name))
    }
  }
  return { tables, columns }
}
