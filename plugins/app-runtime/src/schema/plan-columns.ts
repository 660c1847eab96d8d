import type { ColumnType } from './column-type.ts'
import { conversion } from './conversions.ts'
import type { DesiredColumn, DesiredTable } from './desired-schema.ts'
import type { ExistingColumn, ExistingTable } from './existing-schema.ts'
import { quoted, textLiteral } from './names.ts'
import type { SchemaStep, StepLevel } from './plan.ts'

export interface ColumnsPlan {
  readonly steps: readonly SchemaStep[]
  /** Columns that ALTER TABLE can add. */
  readonly additions: readonly DesiredColumn[]
  /** True if the table must be rebuilt. */
  readonly rebuild: boolean
  /** SQL that computes each new column from a row of the old table. */
  readonly values: ReadonlyMap<string, string>
}

export interface ColumnsQuestion {
  readonly desired: DesiredTable
  readonly existing: ExistingTable
  /** Declaration at the last migration; null if unknown. */
  readonly recorded: DesiredTable | null
  /** New names by old ones in lower case. */
  readonly renames: ReadonlyMap<string, string>
  /** Number of rows that satisfy a condition. */
  readonly count: (condition: string) => Promise<number>
}

/** Plans the changes to the columns of one table. */
export async function planColumns(question: ColumnsQuestion): Promise<ColumnsPlan> {
  return new ColumnsPlanner(question).plan()
}

class ColumnsPlanner {
  readonly #question: ColumnsQuestion
  readonly #steps: SchemaStep[] = []
  readonly #additions: DesiredColumn[] = []
  readonly #values = new Map<string, string>()
  /** Existing columns that are kept, in lower case. */
  readonly #used = new Set<string>()
  #rebuild = false

  constructor(question: ColumnsQuestion) {
    this.#question = question
  }

  async plan(): Promise<ColumnsPlan> {
    const { desired, existing, renames } = this.#question
    const oldNames = new Map([...renames].map(([old, name]) => [name.toLowerCase(), old]))
    for (const column of desired.columns) {
      const wanted = oldNames.get(column.name.toLowerCase()) ?? column.name.toLowerCase()
      const source = existing.columns.find(({ name }) => name.toLowerCase() === wanted)
      if (source === undefined) await this.#add(column)
      else {
        this.#used.add(wanted)
        await this.#change(source, column)
      }
    }
    for (const column of existing.columns) {
      if (!this.#used.has(column.name.toLowerCase())) await this.#drop(column)
    }
    for (const [old, name] of renames) {
      if (!existing.columns.some(column => column.name.toLowerCase() === old))
        this.#step('refused', name, `cannot be renamed from ${old}: the table has no such column`, null)
    }
    return { steps: this.#steps, additions: this.#additions, rebuild: this.#rebuild, values: this.#values }
  }

  async #add(column: DesiredColumn): Promise<void> {
    const { name, declared, nullable } = column
    if (nullable || column.default !== null) {
      const initial = column.default === null ? 'empty' : column.default
      this.#step('safe', name, `is new, and is ${initial} in existing rows`, null)
      this.#additions.push(column)
      this.#values.set(name, column.default ?? 'NULL')
      return
    }
    const rows = await this.#question.count('1')
    if (rows === 0) {
      this.#step('safe', name, 'is new', null)
      this.#rebuild = true
      return
    }
    this.#step(
      'refused',
      name,
      `is new and required, and ${rowsText(rows)} would have no value for it`,
      `declare it as Option[${declared}], or give it a literal default: ${name}: ${declared} = …`
    )
  }

  async #change(source: ExistingColumn, column: DesiredColumn): Promise<void> {
    const { name } = column
    const from = this.#before(source, column)
    const old = quoted(source.name)
    if (source.name !== name) {
      this.#rebuild = true
      this.#step('safe', name, `is renamed from ${source.name}`, null)
    }
    const typed = await this.#convert(old, from, column)
    const value = await this.#fill(old, typed, source, column)
    this.#values.set(name, value)
    if (typed !== old || source.type.toUpperCase() !== column.sql) this.#rebuild = true
    if ((source.default ?? null) !== column.default) {
      this.#rebuild = true
      this.#step(
        'safe',
        name,
        column.default === null ? 'loses its default' : `gets the default ${column.default}`,
        null
      )
    }
  }

  /** Returns the former declared type of a column. Without a record, it is derived from the SQL type. */
  #before({ name, type }: ExistingColumn, column: DesiredColumn): Pick<ColumnType, 'kind' | 'declared'> {
    const sql = type.toUpperCase()
    const recorded = this.#question.recorded?.columns.find(each => each.name.toLowerCase() === name.toLowerCase())
    if (recorded !== undefined && recorded.sql === sql) return recorded
    if (sql === column.sql) return column
    if (sql === 'INTEGER') return { kind: 'int', declared: 'int' }
    if (sql === 'REAL') return { kind: 'float', declared: 'float' }
    if (sql === 'TEXT') return { kind: 'str', declared: 'str' }
    return { kind: 'vector', declared: sql }
  }

  /** Returns SQL that converts the old column's value to the new type. */
  async #convert(old: string, from: Pick<ColumnType, 'kind' | 'declared'>, column: DesiredColumn): Promise<string> {
    const { name, declared } = column
    if (from.declared === declared) return old
    const change = `changes from ${from.declared} to ${declared}`
    const found = conversion(from, column)
    const { count } = this.#question
    const impossible = found === null ? '1' : `NOT (${found.possible(old)})`
    const without = await count(`${old} IS NOT NULL AND ${impossible}`)
    const inexact =
      found === null ? 0 : await count(`${old} IS NOT NULL AND NOT (${impossible}) AND NOT (${found.exact(old)})`)
    const fallback = column.default ?? 'NULL'
    if (without > 0 && !column.nullable && column.default === null) {
      const wayOut = `declare it as Option[${declared}], or give it a literal default`
      this.#step('refused', name, `${change}, but ${rowsText(without)} cannot be converted`, wayOut)
      return old
    }
    const losses = [
      ...(without > 0 ? [`${rowsText(without)} cannot be converted, and become ${column.default ?? 'empty'}`] : []),
      ...(inexact > 0 ? [this.#inexact(from, column, inexact)] : [])
    ]
    this.#step(losses.length > 0 ? 'lossy' : 'safe', name, [change, ...losses].join(', and '), null)
    if (found === null) return fallback
    const value = found.value(old)
    if (without === 0) return value
    return `CASE WHEN ${old} IS NULL THEN NULL WHEN ${found.possible(old)} THEN ${value} ELSE ${fallback} END`
  }

  #inexact({ kind }: Pick<ColumnType, 'kind'>, column: DesiredColumn, rows: number): string {
    if (kind === 'json' && column.kind === 'json') return `${rowsText(rows)} may not be readable as that type`
    return `the value changes in ${rowsText(rows)}`
  }

  /** Returns SQL that fills NULL with the default, if a formerly optional column is now required. */
  async #fill(old: string, value: string, source: ExistingColumn, column: DesiredColumn): Promise<string> {
    const { name, nullable, declared } = column
    if (source.nullable === nullable) return value
    this.#rebuild = true
    if (nullable) {
      this.#step('safe', name, 'becomes optional', null)
      return value
    }
    const empty = await this.#question.count(`${old} IS NULL`)
    if (empty === 0) this.#step('safe', name, 'becomes required, and has a value in every row', null)
    else if (column.default !== null) {
      this.#step('safe', name, `becomes required, and gets ${column.default} in rows without a value`, null)
      return `coalesce(${value}, ${column.default})`
    } else {
      const wayOut = `keep it as Option[${declared}], give it a literal default, or fill it first`
      this.#step('refused', name, `becomes required, but is empty in ${rowsText(empty)}`, wayOut)
    }
    return value
  }

  async #drop({ name }: ExistingColumn): Promise<void> {
    const { desired, count, recorded } = this.#question
    this.#rebuild = true
    const rows = await count(`${quoted(name)} IS NOT NULL`)
    if (rows === 0) {
      this.#step('safe', name, 'is dropped, and has no values', null)
      return
    }
    const type = recorded?.columns.find(each => each.name.toLowerCase() === name.toLowerCase())?.declared
    const near = this.#closest(type)
    const wayOut =
      near === undefined ? null : `if it is now ${near.name}: --rename ${desired.declared}.${name}=${near.name}`
    this.#step('lossy', name, `is dropped, with the values of ${rowsText(rows)}`, wayOut)
  }

  /** Returns a new column with the type of a removed one, which may be its new name. */
  #closest(type: string | undefined): DesiredColumn | undefined {
    const { desired, existing } = this.#question
    const names = new Set(existing.columns.map(({ name }) => name.toLowerCase()))
    return desired.columns.find(({ name, declared }) => declared === type && !names.has(name.toLowerCase()))
  }

  #step(level: StepLevel, column: string, says: string, wayOut: string | null): void {
    this.#steps.push({ level, table: this.#question.desired.declared, column, says, wayOut })
  }
}

function rowsText(rows: number): string {
  return rows === 1 ? '1 row' : `${rows} rows`
}

/** Returns statements that copy every row to a table of the new shape, which replaces the old one. */
export function rebuildStatements(
  table: string,
  create: (name: string) => string,
  columns: readonly DesiredColumn[],
  values: ReadonlyMap<string, string>
): string[] {
  const next = `program_rebuild_${table}`
  const names = ['"_id"', ...columns.map(({ name }) => quoted(name))]
  const expressions = ['"_id"', ...columns.map(column => values.get(column.name) ?? column.default ?? 'NULL')]
  return [
    create(next),
    `INSERT INTO ${quoted(next)} (${names.join(', ')}) SELECT ${expressions.join(', ')} FROM ${quoted(table)}`,
    // Ids of deleted rows are not reused.
    `DELETE FROM sqlite_sequence WHERE name = ${textLiteral(next)}`,
    `INSERT INTO sqlite_sequence (name, seq) SELECT ${textLiteral(next)}, seq FROM sqlite_sequence WHERE name = ${textLiteral(table)}`,
    `DROP TABLE ${quoted(table)}`,
    `ALTER TABLE ${quoted(next)} RENAME TO ${quoted(table)}`
  ]
}
