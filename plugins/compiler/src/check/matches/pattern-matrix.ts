import type { Pattern } from '../../syntax/ast-statements.ts'
import { NO_ID } from '../../syntax/node.ts'

/** A value constructor: a variant with its number of fields, a boolean, a tuple. */
export interface Constructor {
  readonly name: string
  readonly arity: number
}

/** Returns all constructors of the type that has the constructor `name`; undefined if unknown. */
export type Siblings = (name: string) => readonly Constructor[] | undefined

/** Maximum number of steps, since matrices can take exponential time. Beyond it, patterns count as exhaustive. */
const MAX_STEPS = 20_000

type Head =
  | { readonly kind: 'any' }
  | { readonly kind: 'constructor'; readonly name: string; readonly args: readonly Pattern[] }
  | { readonly kind: 'literal' }

type Row = readonly Pattern[]

const ANY: Pattern = { kind: 'WildcardPattern', id: NO_ID, start: 0, end: 0 }
const BOOLEANS: readonly Constructor[] = [
  { name: 'true', arity: 0 },
  { name: 'false', arity: 0 }
]

/**
 * Looks for values that no row of patterns matches, after Maranget, "Warnings for pattern matching", 2007. Types are
 * not needed: the constructors in a column determine the type.
 */
export class PatternMatrix {
  readonly #siblings: Siblings
  #steps = 0

  constructor(siblings: Siblings) {
    this.#siblings = siblings
  }

  /** Returns the outermost constructors of unmatched values, as shown to users; empty if all values match. */
  missing(patterns: readonly Pattern[]): string[] {
    const rows = patterns.map(pattern => [pattern])
    const constructors = this.#constructorsOf(rows)
    if (constructors === undefined) return []
    const columns = new FirstColumn(rows)
    return constructors.flatMap(each => {
      const witness = this.#uncovered(columns.under(each), each.arity)
      return witness === undefined ? [] : [written(each, witness)]
    })
  }

  /** Returns a row of values that no row of patterns matches; undefined if there is none. */
  #uncovered(rows: readonly Row[], width: number): string[] | undefined {
    if (++this.#steps > MAX_STEPS) return undefined
    if (width === 0) return rows.length === 0 ? [] : undefined
    const constructors = this.#constructorsOf(rows)
    const column = new FirstColumn(rows)
    if (constructors !== undefined) {
      for (const each of constructors) {
        const found = this.#uncovered(column.under(each), each.arity + width - 1)
        if (found === undefined) continue
        return [written(each, found.slice(0, each.arity)), ...found.slice(each.arity)]
      }
      return undefined
    }
    const found = this.#uncovered(column.open, width - 1)
    return found === undefined ? undefined : ['_', ...found]
  }

  /** Returns the constructors of the first column's type; undefined if unknown or infinite. */
  #constructorsOf(rows: readonly Row[]): readonly Constructor[] | undefined {
    for (const [first] of rows) {
      if (first === undefined) continue
      const head = headOf(first)
      if (head.kind === 'literal') return undefined
      if (head.kind === 'any') continue
      if (head.name === '') return [{ name: '', arity: head.args.length }]
      return head.name === 'true' || head.name === 'false' ? BOOLEANS : this.#siblings(head.name)
    }
    return undefined
  }
}

/** Rows grouped by the constructor in their first column. Order is irrelevant: a value matches a row or it does not. */
class FirstColumn {
  /** The default matrix: rows whose first pattern is a wildcard, without their first column. */
  readonly open: Row[] = []
  readonly #byName = new Map<string, { readonly args: readonly Pattern[]; readonly rest: Row }[]>()

  constructor(rows: readonly Row[]) {
    for (const [first, ...rest] of rows) {
      const head = first === undefined ? undefined : headOf(first)
      if (head?.kind === 'any') this.open.push(rest)
      if (head?.kind !== 'constructor') continue
      const known = this.#byName.get(head.name)
      if (known === undefined) this.#byName.set(head.name, [{ args: head.args, rest }])
      else known.push({ args: head.args, rest })
    }
  }

  /** Returns the rows that match this constructor. The patterns of its fields replace the first column. */
  under({ name, arity }: Constructor): Row[] {
    const parts = Array.from({ length: arity }, () => ANY)
    const named = this.#byName.get(name) ?? []
    return [
      ...named.map(({ args, rest }) => [...parts.map((any, index) => args[index] ?? any), ...rest]),
      ...this.open.map(rest => [...parts, ...rest])
    ]
  }
}

function headOf(pattern: Pattern): Head {
  switch (pattern.kind) {
    case 'WildcardPattern':
    case 'BindingPattern':
      return { kind: 'any' }
    case 'ConstructorPattern': {
      const name = pattern.name.text === 'Err' ? 'Error' : pattern.name.text
      return { kind: 'constructor', name, args: pattern.args ?? [] }
    }
    case 'TuplePattern':
      return { kind: 'constructor', name: '', args: pattern.items }
    case 'LiteralPattern':
      if (pattern.value.kind === 'Bool') return { kind: 'constructor', name: String(pattern.value.value), args: [] }
      return { kind: 'literal' }
  }
}

function written({ name, arity }: Constructor, parts: readonly string[]): string {
  if (arity === 0) return name
  return `${name}(${parts.join(', ')})`
}
