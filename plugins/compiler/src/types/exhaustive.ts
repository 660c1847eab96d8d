// toestub-ignore(arch/god_object) - one algorithm, with the columns that it divides
import type { MatchArm } from '../syntax/ast-expressions.ts'
import type { Pattern } from '../syntax/ast-statements.ts'
import { BOOL, OPTION, RESULT, result, UNIT } from './builtin-types.ts'
import { withArguments } from './substitute.ts'
import { ANY, resolved, type Type, type TypeDef } from './type.ts'

/** Maximum number of missing cases in one report. */
export const MAX_WITNESSES = 3

/** Matrices can take exponential time. Beyond this number of pattern cells, a match counts as exhaustive. */
const MAX_CELLS = 400_000

/** Maximum number of columns on one path, since each is one level of recursion. */
const MAX_DEPTH = 1_000

/** A value that no arm matches. */
export interface Witness {
  /** The value as a pattern: `Some(Red)`. */
  readonly text: string
  /** True if an alternative of a declared type or a bool is missing; false for Option, Result, numbers and texts. */
  readonly isClosed: boolean
}

export interface Coverage {
  /** Values that no arm matches, at most `MAX_WITNESSES`. */
  readonly missing: readonly Witness[]
  /** True if more values are missing. */
  readonly hasMore: boolean
  /** Patterns that match no value that reaches them, in source order. */
  readonly redundant: readonly Pattern[]
}

/** Finds the definition of a constructor whose type is unknown. */
export type FindConstructor = (name: string) => TypeDef | undefined

/**
 * Returns which values the arms of a `match` on a value of type `subject` leave out, and which patterns are in vain. A
 * match with a pattern of another type is not judged: that pattern is reported elsewhere.
 */
export function coverage(subject: Type, arms: readonly MatchArm[], find: FindConstructor): Coverage {
  const patterns = arms.flatMap(arm => arm.patterns)
  const type = subjectType(subject, patterns)
  const shallow = shallowCoverage(type, arms)
  if (shallow !== null) return shallow
  const types = new Search(find, 0)
  if (!patterns.every(pattern => types.belongsTo(pattern, type))) return NOT_JUDGED
  const redundant = redundantPatterns(type, arms, find)
  const rows = arms.flatMap(arm => (arm.guard === null ? arm.patterns.map(row) : []))
  const search = new Search(find, MAX_WITNESSES + 1)
  const found = search.missing(rows, type, patterns)
  return {
    missing: found.slice(0, MAX_WITNESSES),
    hasMore: found.length > MAX_WITNESSES,
    redundant
  }
}

/**
 * Returns the coverage of a match whose patterns look at the outermost constructor only, as most do; null for another
 * one.
 */
function shallowCoverage(type: Type, arms: readonly MatchArm[]): Coverage | null {
  if (type.kind !== 'named') return null
  const constructors = constructorsOfDef(type.def, type.args)
  if (constructors === null) return null
  const byName = new Map(constructors.map(each => [each.name, each]))
  const left = new Set(constructors)
  const redundant: Pattern[] = []
  for (const { patterns, guard } of arms) {
    for (const pattern of patterns) {
      const head = headOf(pattern)
      if (head.kind === 'anything') {
        if (left.size === 0) redundant.push(pattern)
        if (guard === null) left.clear()
        continue
      }
      if (head.kind === 'literal' || !head.args.every(isOpen)) return null
      const known = byName.get(head.name)
      if (known === undefined || head.args.length > known.fields.length) return NOT_JUDGED
      if (!left.has(known)) redundant.push(pattern)
      if (guard === null) left.delete(known)
    }
  }
  const missing = [...left].map(({ name, fields, isClosed }) => ({
    text: fields.length === 0 ? name : `${name}(${fields.map(() => '_').join(', ')})`,
    isClosed
  }))
  return { missing: missing.slice(0, MAX_WITNESSES), hasMore: missing.length > MAX_WITNESSES, redundant }
}

function isOpen({ kind }: Pattern): boolean {
  return kind === 'WildcardPattern' || kind === 'BindingPattern'
}

const NOT_JUDGED: Coverage = { missing: [], hasMore: false, redundant: [] }

/** A database operation is a `Result` for patterns of a Result, else its value. */
function subjectType(subject: Type, patterns: readonly Pattern[]): Type {
  const type = resolved(subject)
  if (type.kind !== 'answer') return type
  const isResult = patterns.some(each => each.kind === 'ConstructorPattern' && RESULT_NAMES.has(each.name.text))
  return isResult ? result(type.value) : resolved(type.value)
}

const RESULT_NAMES: ReadonlySet<string> = new Set(['Ok', 'Error', 'Err'])

function redundantPatterns(type: Type, arms: readonly MatchArm[], find: FindConstructor): Pattern[] {
  const redundant: Pattern[] = []
  const before: Row[] = []
  const simple = new Set<string>()
  let isSimple = true
  const search = new Search(find, 1)
  for (const { patterns, guard } of arms) {
    for (const pattern of patterns) {
      const key = simpleKey(pattern)
      const isRepeated = key !== null && simple.has(key)
      // As long as all rows are constants, a constant is useful unless it was there before.
      const isUseful = isSimple && key !== null ? !isRepeated : search.isUseful(before, row(pattern), type)
      if (!isUseful) redundant.push(pattern)
      if (guard !== null) continue
      before.push(row(pattern))
      if (key === null) isSimple = false
      else simple.add(key)
    }
  }
  return redundant
}

/** Returns a text that is the same for equal constants; null for other patterns. */
function simpleKey(pattern: Pattern): string | null {
  if (pattern.kind === 'LiteralPattern') return literalKey(pattern)
  return pattern.kind === 'ConstructorPattern' && pattern.args === null ? pattern.name.text : null
}

function literalKey({ isNegative, value }: Extract<Pattern, { kind: 'LiteralPattern' }>): string {
  switch (value.kind) {
    case 'Bool':
      return String(value.value)
    case 'String':
      return JSON.stringify(value.value)
    default:
      return `${value.kind} ${isNegative ? '-' : ''}${normalDigits(value.digits)}`
  }
}

/** Returns the same text for `1.0` and `1.00`, and for `07` and `7`. */
function normalDigits(digits: string): string {
  const whole = digits.replace(/^0+(?=\d)/, '')
  return whole.includes('.') ? whole.replace(/\.?0+$/, '') : whole
}

/** A list of patterns, or of the types of the columns. */
interface Cell<Item> {
  readonly first: Item
  readonly rest: Cell<Item> | null
}

type Row = Cell<Pattern> | null
type Columns = Cell<Type> | null

const row = (pattern: Pattern): Row => ({ first: pattern, rest: null })

const ANYTHING: Pattern = { kind: 'WildcardPattern', id: -1, start: 0, end: 0 }

/** A value constructor: a variant, a boolean, a tuple. */
interface Constructor {
  readonly name: string
  readonly fields: readonly Type[]
  readonly isClosed: boolean
}

type Head =
  | { readonly kind: 'anything' }
  | { readonly kind: 'constructor'; readonly name: string; readonly args: readonly Pattern[] }
  | { readonly kind: 'literal'; readonly key: string }

const ANYTHING_HEAD: Head = { kind: 'anything' }

function headOf(pattern: Pattern): Head {
  switch (pattern.kind) {
    case 'WildcardPattern':
    case 'BindingPattern':
      return ANYTHING_HEAD
    case 'ConstructorPattern': {
      const name = pattern.name.text === 'Err' ? 'Error' : pattern.name.text
      return { kind: 'constructor', name, args: pattern.args ?? [] }
    }
    case 'TuplePattern':
      return { kind: 'constructor', name: TUPLE, args: pattern.items }
    case 'LiteralPattern': {
      const key = literalKey(pattern)
      return pattern.value.kind === 'Bool' ? { kind: 'constructor', name: key, args: [] } : { kind: 'literal', key }
    }
  }
}

const TUPLE = ''

/** Thrown when a search exceeds its limits. */
const EXHAUSTED = Symbol('search limit')

/**
 * Looks for values that no row of patterns matches, after Maranget, "Warnings for pattern matching", 2007. A column has
 * the type of its values, so that nested alternatives are known even where no row names them.
 */
class Search {
  readonly #find: FindConstructor
  readonly #limit: number
  #cells = 0
  #depth = 0

  constructor(find: FindConstructor, limit: number) {
    this.#find = find
    this.#limit = limit
  }

  /** Returns values that no row matches. `patterns` show which type is meant if it is unknown. */
  missing(rows: readonly Row[], type: Type, patterns: readonly Pattern[]): Witness[] {
    const constructors = this.#constructorsOf(type, patterns.map(headOf))
    try {
      // The alternatives of the subject are listed, even if no row distinguishes them.
      if (constructors !== null) {
        return this.#eachConstructor(constructors, rows, null, this.#limit).map(({ first }) => first)
      }
      // A match without an alternative or a literal on a value of unknown type is not judged.
      if (isUnknown(type)) return []
      return this.#uncovered(rows, { first: type, rest: null }, this.#limit).map(
        found => (found as Cell<Witness>).first
      )
    } catch (error) {
      if (error !== EXHAUSTED) throw error
      return []
    } finally {
      this.#depth = 0
    }
  }

  /** True if the pattern matches a value that no row before it matches, or if the search exceeds its limits. */
  isUseful(rows: readonly Row[], pattern: Row, type: Type): boolean {
    try {
      return this.#isUseful(rows, pattern, { first: type, rest: null })
    } catch (error) {
      if (error !== EXHAUSTED) throw error
      return true
    } finally {
      this.#depth = 0
    }
  }

  /** True if all parts of a pattern can match values of their types. */
  belongsTo(pattern: Pattern, within: Type): boolean {
    const open: [Pattern, Type][] = [[pattern, within]]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const [part, type] = next
      const head = headOf(part)
      if (head.kind === 'anything' || isUnknown(type)) continue
      const constructors = this.#constructorsOf(type, [head])
      if (head.kind === 'literal') {
        if (constructors !== null) return false
        continue
      }
      const known = constructors?.find(({ name }) => name === head.name)
      if (known === undefined || head.args.length > known.fields.length) return false
      for (const [index, arg] of head.args.entries()) open.push([arg, known.fields[index] as Type])
    }
    return true
  }

  /** Returns rows of values that no row of patterns matches. */
  #uncovered(rows: readonly Row[], columns: Columns, limit: number): (Cell<Witness> | null)[] {
    if (columns === null) return rows.length === 0 ? [null] : []
    return this.#nested(() => {
      this.#charge(rows.length)
      const { first: type, rest } = columns
      const heads = rows.map(each => headOf((each as Cell<Pattern>).first))
      if (heads.every(({ kind }) => kind === 'anything')) {
        return this.#uncovered(rows.map(tail), rest, limit).map(found => ({ first: WHATEVER, rest: found }))
      }
      const constructors = this.#constructorsOf(type, heads)
      if (constructors !== null) return this.#eachConstructor(constructors, rows, rest, limit)
      // There are more literals than any match lists, so values other than the listed ones decide.
      const others = rows.filter((_, index) => heads[index]?.kind === 'anything').map(tail)
      return this.#uncovered(others, rest, limit).map(found => ({ first: WHATEVER, rest: found }))
    })
  }

  #eachConstructor(
    constructors: readonly Constructor[],
    rows: readonly Row[],
    rest: Columns,
    limit: number
  ): Cell<Witness>[] {
    const found: Cell<Witness>[] = []
    for (const each of constructors) {
      if (found.length >= limit) break
      const narrowed = this.#narrowed(rows, each)
      const inner = this.#uncovered(narrowed, prepended(each.fields, rest), limit - found.length)
      for (const witness of inner) found.push(built(each, witness))
    }
    return found
  }

  #isUseful(rows: readonly Row[], pattern: Row, columns: Columns): boolean {
    if (columns === null || pattern === null) return rows.length === 0
    if (rows.length === 0) return true
    return this.#nested(() => {
      this.#charge(rows.length)
      const head = headOf(pattern.first)
      const { rest } = columns
      if (head.kind === 'constructor') {
        const known = this.#constructorsOf(columns.first, [head])?.find(({ name }) => name === head.name)
        // A constructor of another type is reported elsewhere.
        if (known === undefined) return true
        const [narrowed] = this.#narrowed([pattern], known)
        return this.#isUseful(this.#narrowed(rows, known), narrowed as Row, prepended(known.fields, rest))
      }
      if (head.kind === 'literal') {
        const same = rows.filter(each => {
          const other = headOf((each as Cell<Pattern>).first)
          return other.kind === 'anything' || (other.kind === 'literal' && other.key === head.key)
        })
        return this.#isUseful(same.map(tail), pattern.rest, rest)
      }
      const heads = rows.map(each => headOf((each as Cell<Pattern>).first))
      const constructors = heads.every(({ kind }) => kind === 'anything')
        ? null
        : this.#constructorsOf(columns.first, heads)
      if (constructors === null) {
        const others = rows.filter((_, index) => heads[index]?.kind === 'anything')
        return this.#isUseful(others.map(tail), pattern.rest, rest)
      }
      return constructors.some(each => {
        const [narrowed] = this.#narrowed([pattern], each)
        return this.#isUseful(this.#narrowed(rows, each), narrowed as Row, prepended(each.fields, rest))
      })
    })
  }

  /** Returns the rows that match a constructor. The patterns of its fields replace the first column. */
  #narrowed(rows: readonly Row[], { name, fields }: Constructor): Row[] {
    const narrowed: Row[] = []
    for (const each of rows) {
      const { first, rest } = each as Cell<Pattern>
      const head = headOf(first)
      if (head.kind === 'literal' || (head.kind === 'constructor' && head.name !== name)) continue
      this.#charge(fields.length + 1)
      const args = head.kind === 'constructor' ? head.args : []
      let next: Row = rest
      for (let index = fields.length - 1; index >= 0; index--) next = { first: args[index] ?? ANYTHING, rest: next }
      narrowed.push(next)
    }
    return narrowed
  }

  /** Returns all constructors of a type; null if it has none, or more than can be listed. */
  #constructorsOf(type: Type, heads: readonly Head[]): readonly Constructor[] | null {
    const inner = resolved(type)
    switch (inner.kind) {
      case 'tuple':
        return [{ name: TUPLE, fields: inner.items, isClosed: false }]
      case 'named':
        return constructorsOfDef(inner.def, inner.args)
      case 'answer': {
        const isResult = heads.some(head => head.kind === 'constructor' && RESULT_NAMES.has(head.name))
        return this.#constructorsOf(isResult ? result(inner.value) : inner.value, heads)
      }
      case 'any':
        return this.#constructorsByName(heads)
      default:
        return null
    }
  }

  /** Returns the constructors of the type that the patterns name, for a value of unknown type. */
  #constructorsByName(heads: readonly Head[]): readonly Constructor[] | null {
    for (const head of heads) {
      if (head.kind !== 'constructor') continue
      if (head.name === TUPLE) return [{ name: TUPLE, fields: head.args.map(() => ANY), isClosed: false }]
      if (head.name === 'true' || head.name === 'false') return BOOLEANS
      const def = this.#find(head.name)
      return def === undefined
        ? null
        : constructorsOfDef(
            def,
            def.generics.map(() => ANY)
          )
    }
    return null
  }

  #nested<Value>(run: () => Value): Value {
    if (++this.#depth > MAX_DEPTH) throw EXHAUSTED
    const value = run()
    this.#depth--
    return value
  }

  #charge(cells: number): void {
    this.#cells += cells + 1
    if (this.#cells > MAX_CELLS) throw EXHAUSTED
  }
}

const WHATEVER: Witness = { text: '_', isClosed: false }

const BOOLEANS: readonly Constructor[] = ['true', 'false'].map(name => ({ name, fields: [], isClosed: true }))

function constructorsOfDef(def: TypeDef, args: readonly Type[]): readonly Constructor[] | null {
  if (def === OPTION) {
    return [
      { name: 'Some', fields: [args[0] ?? ANY], isClosed: false },
      { name: 'None', fields: [], isClosed: false }
    ]
  }
  if (def === RESULT) {
    return [
      { name: 'Ok', fields: [args[0] ?? ANY], isClosed: false },
      { name: 'Error', fields: [args[1] ?? ANY], isClosed: false }
    ]
  }
  if (def === BOOL_DEF) return BOOLEANS
  if (def === UNIT_DEF) return UNITS
  if (def.variants === null) return null
  return def.variants.map(({ name, fields }) => ({
    name,
    fields: fields.map(field => withArguments(field.type, def.generics, args)),
    isClosed: true
  }))
}

const defOf = (type: Type): TypeDef | null => (type.kind === 'named' ? type.def : null)
const BOOL_DEF = defOf(BOOL)
const UNIT_DEF = defOf(UNIT)
const UNITS: readonly Constructor[] = [{ name: 'Unit', fields: [], isClosed: false }]

/** True for a value of which no constructor is known without looking at the patterns. */
function isUnknown(type: Type): boolean {
  const { kind } = resolved(type)
  return kind === 'any' || kind === 'error' || kind === 'never' || kind === 'var'
}

function tail(each: Row): Row {
  return (each as Cell<Pattern>).rest
}

function prepended<Item>(items: readonly Item[], rest: Cell<Item> | null): Cell<Item> | null {
  let all = rest
  for (let index = items.length - 1; index >= 0; index--) all = { first: items[index] as Item, rest: all }
  return all
}

/** Returns a witness of a constructor from the witnesses of its fields, followed by those of the other columns. */
function built({ name, fields, isClosed }: Constructor, witness: Cell<Witness> | null): Cell<Witness> {
  const parts: Witness[] = []
  let rest = witness
  for (let index = 0; index < fields.length && rest !== null; index++) {
    parts.push(rest.first)
    rest = rest.rest
  }
  const text = fields.length === 0 ? name : `${name}(${parts.map(each => each.text).join(', ')})`
  // A tuple is closed if one of its values is; the value in a Some does not matter.
  const isTuple = name === TUPLE
  return { first: { text, isClosed: isTuple ? parts.some(each => each.isClosed) : isClosed }, rest }
}
