import { IDENTITIES_TABLE, SESSIONS_TABLE, userTables } from '../auth/users/user-tables.ts'
import { FILES_TABLE, filesStatements } from '../storage/file-tables.ts'
import type { DesiredSchema, DesiredTable } from './desired-schema.ts'
import { findDuplicates } from './duplicates.ts'
import { type ExistingSchema, existingSchema, type ReadDatabase } from './existing-schema.ts'
import { quoted, tableName, textLiteral } from './names.ts'
import { levelOf, NO_RENAMES, type Renames, type SchemaPlan, type SchemaStep } from './plan.ts'
import { planTable } from './plan-table.ts'
import {
  digestOf,
  forgetTable,
  type ParameterisedStatement,
  type RecordedTable,
  recordStatement,
  recordTable
} from './recorded-schema.ts'
import { changesStatements } from './triggers.ts'

export interface PlanOptions {
  /** The owner of the tables: the program's file, relative to the project. */
  readonly program: string
  /** True to drop tables that the program no longer declares. */
  readonly force?: boolean
  readonly renames?: Renames
  /** True if the file of another program still exists. */
  readonly isProgram: (program: string) => boolean
}

/** Plans the changes that migrate a database to the declared tables. Changes nothing itself. */
export async function planSchema(
  database: ReadDatabase,
  desired: DesiredSchema,
  { program, force = false, renames = NO_RENAMES, isProgram }: PlanOptions
): Promise<SchemaPlan> {
  const { notes } = desired
  if (desired.problems.length > 0) {
    const steps = desired.problems.map((says): SchemaStep => {
      return { level: 'refused', table: '', column: null, says, wayOut: 'choose another name' }
    })
    return { program, steps, statements: [], notes }
  }
  const formerNames = new Map([...renames.tables].map(([old, name]) => [tableName(name), tableName(old)]))
  const wanted = [...desired.tables.map(({ name }) => name), ...formerNames.values()]
  const existing = await existingSchema(database, wanted)
  const own = existing.record.filter(each => each.program === program)
  const others = existing.record.filter(each => each.program !== program && isProgram(each.program))
  const gone = existing.record.filter(each => each.program !== program && !isProgram(each.program))
  const steps: SchemaStep[] = []
  const statements: (string | ParameterisedStatement)[] = existing.hasRecord ? [] : [recordStatement]
  if (desired.isLive && !existing.hasChanges) statements.push(...changesStatements)
  const hasUserTables = [SESSIONS_TABLE, IDENTITIES_TABLE].every(name => existing.names.has(name))
  if (desired.hasUsers && !hasUserTables) statements.push(...userTables)
  if (desired.hasFiles && !existing.names.has(FILES_TABLE)) statements.push(...filesStatements)
  const declaredNames = new Set<string>()
  for (const table of desired.tables) {
    const formerName = formerNames.get(table.name) ?? null
    declaredNames.add(formerName ?? table.name).add(table.name)
    const plan = await planTable({
      desired: table,
      existing,
      recorded: recordedTable(formerName ?? table.name, own, others, gone),
      others: others.filter(each => each.table === table.name),
      abandoned: gone.filter(each => each.table === table.name).map(({ definition }) => definition),
      formerName,
      renames: renames.columns.get(table.name) ?? new Map(),
      count: (name, condition) => count(database, name, condition),
      duplicates: (name, expressions) => findDuplicates(database, name, expressions),
      referrers: name => referrers(database, name)
    })
    steps.push(...plan.steps)
    const forgotten = gone.filter(each => each.table === table.name).map(each => forgetTable(each.program, each.table))
    statements.push(...plan.statements, ...recordChange(program, table, formerName, own), ...forgotten)
  }
  const left = own.filter(({ table }) => !declaredNames.has(table))
  for (const each of left) {
    const plan = await planUndeclaredTable(database, existing, each, others, { program, force })
    steps.push(...plan.steps)
    statements.push(...plan.statements)
  }
  const isNothing = desired.tables.length === 0 && left.length === 0 && !desired.hasFiles
  const isRefused = levelOf({ steps }) === 'refused'
  return { program, steps, statements: isNothing || isRefused ? [] : statements, notes }
}

/** Returns the record of a table. The records of the program itself come first. */
function recordedTable(name: string, ...records: readonly (readonly RecordedTable[])[]): DesiredTable | null {
  for (const record of records) {
    const found = record.find(({ table }) => table === name)
    if (found !== undefined) return found.definition
  }
  return null
}

/** Returns statements that record the declaration of a table, if it changed. */
function recordChange(
  program: string,
  table: DesiredTable,
  formerName: string | null,
  own: readonly RecordedTable[]
): ParameterisedStatement[] {
  const known = own.find(each => each.table === table.name)
  const forget = formerName === null ? [] : [forgetTable(program, formerName)]
  return known?.digest === digestOf(table) ? forget : [...forget, recordTable(program, table)]
}

/** Plans the drop of a table that the program created and no longer declares. */
async function planUndeclaredTable(
  database: ReadDatabase,
  existing: ExistingSchema,
  { table: name, definition }: RecordedTable,
  others: readonly RecordedTable[],
  { program, force }: Pick<PlanOptions, 'program'> & { readonly force: boolean }
): Promise<Pick<SchemaPlan, 'steps' | 'statements'>> {
  const forget = [forgetTable(program, name)]
  const step = { table: definition.declared, column: null }
  const table = existing.tables.get(name)
  const isNeeded = others.some(each => each.table === name)
  if (table === undefined || isNeeded) return { steps: [], statements: forget }
  const rows = await count(database, table.name, '1')
  if (!force) {
    const says = `is no longer declared; ${rows === 1 ? 'its row is' : `its ${rows} rows are`} kept`
    return { steps: [{ ...step, level: 'kept', says, wayOut: 'drop it with --force' }], statements: [] }
  }
  const search = definition.search !== null && existing.virtual.has(definition.search.name) ? definition.search : null
  const statements = [
    ...(search === null ? [] : [`DROP TABLE ${quoted(search.name)}`]),
    ...[...table.objects].map(([object, { type }]) => `DROP ${type.toUpperCase()} ${quoted(object)}`),
    `DROP TABLE ${quoted(table.name)}`,
    ...forget
  ]
  const keys = await referrers(database, table.name)
  if (keys.length > 0) {
    const says = `cannot be dropped, since foreign keys of ${keys.join(', ')} refer to it`
    return { steps: [{ ...step, level: 'refused', says, wayOut: 'drop these foreign keys first' }], statements: [] }
  }
  const says = `is dropped with its ${rows} rows`
  return { steps: [{ ...step, level: rows === 0 ? 'safe' : 'lossy', says, wayOut: null }], statements }
}

async function count(database: ReadDatabase, table: string, condition: string): Promise<number> {
  const { rows } = await database.query(`SELECT count(*) FROM ${quoted(table)} WHERE ${condition}`)
  return Number(rows[0]?.[0] ?? 0)
}

async function referrers(database: ReadDatabase, table: string): Promise<string[]> {
  const { rows } = await database.query(
    `SELECT DISTINCT m.name FROM sqlite_master AS m JOIN pragma_foreign_key_list(m.name) AS f
WHERE m.type = 'table' AND lower(f."table") = ${textLiteral(table.toLowerCase())} AND lower(m.name) <> ${textLiteral(table.toLowerCase())}`
  )
  return rows.map(([name]) => String(name))
}
