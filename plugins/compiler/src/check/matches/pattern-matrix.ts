import type { Pattern } from '../../syntax/ast-statements.ts'

/** A way to build a value: a variant with its number of parts, a truth value, a tuple. */
export interface Constructor {
  readonly name: string
  readonly arity: number
}

/** All ways to build a value of the type that has the constructor `name`; undefined when nobody knows. */
export type Siblings = (name: string) => readonly Constructor[] | undefined

/** Matrices of many rows and columns take long; past this many steps patterns count as exhaustive. */
const MAX_STEPS = 20_000

type Head =
  | { readonly kind: 'any' }
  | { readonly kind: 'constructor'; readonly name: string; readonly args: readonly Pattern[] }
  | { readonly kind: 'literal' }

const ANY: Pattern = { kind: 'WildcardPattern', start: 0, end: 0 }
const BOOLEANS: readonly Constructor[] = [
  { name: 'true', arity: 0 },
  { name: 'false', arity: 0 }
]

/**
 * Looks for values that no row of patterns matches, after Maranget, "Warnings for pattern matching", 2007. Types are not
 * needed: the constructors in a column tell which one it is.
 */
export class PatternMatrix {
  readonly #siblings: Siblings
  #steps = 0

  constructor(siblings: Siblings) {
    this.#siblings = siblings
  }

  /** Constructors of the first level with values that no pattern matches, as people write them; empty for none. */
  missing(patterns: readonly Pattern[]): string[] {
    const rows = patterns.map(pattern => [pattern])
    const constructors = this.#constructorsOf(rows)
    if (constructors === undefined) return []
    return constructors.flatMap(each => {
      const rest = specialised(rows, each)
      const witness = this.#uncovered(rest, each.arity)
      return witness === undefined ? [] : [written(each, witness)]
    })
  }

  /** A row of values that no row of patterns matches; undefined when there is none. */
  #uncovered(rows: readonly (readonly Pattern[])[], width: number): string[] | undefined {
    if (++this.#steps > MAX_STEPS) return undefined
    if (width === 0) return rows.length === 0 ? [] : undefined
    const constructors = this.#constructorsOf(rows)
    if (constructors !== undefined) {
      for (const each of constructors) {
        const found = this.#uncovered(specialised(rows, each), each.arity + width - 1)
        if (found === undefined) continue
        return [written(each, found.slice(0, each.arity)), ...found.slice(each.arity)]
      }
      return undefined
    }
    const others = rows
      .filter(([first]) => first !== undefined && headOf(first).kind === 'any')
      .map(row => row.slice(1))
    const found = this.#uncovered(others, width - 1)
    return found === undefined ? undefined : ['_', ...found]
  }

  /** Constructors of the type that the first column has; undefined where they cannot be told or counted. */
  #constructorsOf(rows: readonly (readonly Pattern[])[]): readonly Constructor[] | undefined {
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

/** Rows that match a value built so, with the patterns of its parts in place of the first. */
function specialised(rows: readonly (readonly Pattern[])[], { name, arity }: Constructor): Pattern[][] {
  return rows.flatMap(([first, ...rest]) => {
    if (first === undefined) return []
    const head = headOf(first)
    const parts = Array.from({ length: arity }, () => ANY)
    if (head.kind === 'any') return [[...parts, ...rest]]
    if (head.kind === 'literal' || head.name !== name) return []
    return [[...parts.map((any, index) => head.args[index] ?? any), ...rest]]
  })
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
