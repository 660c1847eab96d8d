import { tokens } from '../sql/scan.ts'

/** A row of `sqlite_master`. */
export interface SchemaObject {
  readonly type: string
  readonly name: string
  readonly sql: string
}

export interface BaselineChanges {
  /** Runs before the baseline statements, which create missing objects. */
  readonly statements: readonly string[]
  /** One clause for each difference that additive changes cannot remove. */
  readonly conflicts: readonly string[]
}

const CREATE = /^\s*CREATE\s+(?:UNIQUE\s+|(VIRTUAL)\s+)?(TABLE|INDEX|TRIGGER)\s+IF NOT EXISTS\s+(\w+)/

/**
 * Compares the objects of a database with the CREATE statements of the baseline. Missing columns are added; different
 * indexes and triggers are dropped, so that the baseline creates them again. Other objects are ignored.
 */
export function compareBaseline(found: readonly SchemaObject[], baseline: readonly string[]): BaselineChanges {
  const objects = new Map(found.map(each => [each.name, each]))
  const statements: string[] = []
  const conflicts: string[] = []
  for (const wanted of baseline) {
    const [, virtual, type, name = ''] = CREATE.exec(wanted) ?? []
    const existing = objects.get(name)
    if (type === undefined || existing === undefined || normalized(existing.sql) === normalized(wanted)) continue
    if (existing.type !== type.toLowerCase())
      conflicts.push(`${name} is a ${existing.type}, not a ${type.toLowerCase()}`)
    else if (type !== 'TABLE') statements.push(`DROP ${type} ${name}`)
    else if (virtual !== undefined) conflicts.push(`the full-text table ${name} has other columns or options`)
    else {
      const changes = compareTable(name, readTable(existing.sql), readTable(wanted))
      statements.push(...changes.statements)
      conflicts.push(...changes.conflicts)
    }
  }
  return { statements, conflicts }
}

interface TableText {
  /** Definitions by name, without the name. */
  readonly columns: ReadonlyMap<string, { readonly text: string; readonly normalized: string }>
  /** Normalized, sorted. */
  readonly constraints: readonly string[]
  /** Options after the column list, for example WITHOUT ROWID. */
  readonly options: string
}

function compareTable(name: string, existing: TableText, wanted: TableText): BaselineChanges {
  const statements: string[] = []
  const conflicts: string[] = []
  for (const [column, { text, normalized }] of wanted.columns) {
    const found = existing.columns.get(column)
    if (found === undefined) {
      if (canBeAdded(normalized)) statements.push(`ALTER TABLE ${name} ADD COLUMN ${column} ${text}`)
      else conflicts.push(`the column ${name}.${column} (${text}) is missing and cannot be added`)
    } else if (found.normalized !== normalized)
      conflicts.push(`the column ${name}.${column} is "${found.text}", not "${text}"`)
  }
  for (const [column, { text, normalized }] of existing.columns) {
    if (!wanted.columns.has(column) && /\bNOT NULL\b(?!.*\bDEFAULT\b)/.test(normalized))
      conflicts.push(`the column ${name}.${column} (${text}) needs a value that this svc does not write`)
  }
  if (existing.constraints.join() !== wanted.constraints.join() || existing.options !== wanted.options)
    conflicts.push(`the table ${name} has other constraints or options`)
  return { statements, conflicts }
}

/** Returns whether ALTER TABLE ADD COLUMN accepts the definition for a table with rows. */
function canBeAdded(definition: string): boolean {
  if (/\b(?:PRIMARY|UNIQUE|GENERATED|AS)\b|\bDEFAULT (?:\(|CURRENT_)/.test(definition)) return false
  const hasDefault = /\bDEFAULT\b/.test(definition)
  return /\bREFERENCES\b/.test(definition)
    ? !hasDefault && !/\bNOT NULL\b/.test(definition)
    : hasDefault || !/\bNOT NULL\b/.test(definition)
}

const CONSTRAINT = /^(?:CONSTRAINT|PRIMARY|UNIQUE|CHECK|FOREIGN)$/i

function readTable(sql: string): TableText {
  const columns = new Map<string, { text: string; normalized: string }>()
  const constraints: string[] = []
  let depth = 0
  let from = 0
  let options = ''
  const take = (end: number): void => {
    const text = sql.slice(from, end).trim()
    const [first] = tokens(text)
    if (first === undefined) return
    if (CONSTRAINT.test(first.text)) constraints.push(normalized(text))
    else {
      const rest = text.slice(first.text.length).trim()
      const name = (first.kind === 'name' ? first.text.slice(1, -1) : first.text).toLowerCase()
      columns.set(name, { text: rest, normalized: normalized(rest) })
    }
  }
  for (const { kind, text, at } of tokens(sql)) {
    if (kind === 'open' && ++depth === 1) from = at + 1
    else if (kind === 'close' && --depth === 0) {
      take(at)
      options = normalized(sql.slice(at + 1))
    } else if (text === ',' && depth === 1) {
      take(at)
      from = at + 1
    }
  }
  return { columns, constraints: constraints.sort(), options }
}

/** Normalises SQL: tokens separated by one space, words in capitals. */
function normalized(sql: string): string {
  const texts: string[] = []
  for (const { kind, text } of tokens(sql)) if (kind !== 'end') texts.push(kind === 'word' ? text.toUpperCase() : text)
  return texts.join(' ').replace(/ IF NOT EXISTS /, ' ')
}
