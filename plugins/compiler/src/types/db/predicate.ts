import type { HirPredicate } from '@svc/contracts'
import { type Diagnostic, diagnostic, spellingFix } from '../../diagnostics/diagnostic.ts'
import type { Expression, ObjectEntry, ObjectLiteral } from '../../syntax/ast-expressions.ts'
import { bare, entryKey, entryValue } from '../../syntax/entries.ts'
import { nearName } from '../../syntax/near-name.ts'
import type { Columns } from './columns.ts'

/** A value passed to a table operation. */
export interface DbArgument {
  readonly name: string | null
  readonly value: Expression
  /** True for a list of which the column must have one element. */
  readonly isOneOf?: true
}

type Comparison = 'Eq' | 'Neq' | 'Lt' | 'Lte' | 'Gt' | 'Gte' | 'Contains'

const COMPARISONS: Readonly<Record<string, Comparison>> = {
  eq: 'Eq',
  neq: 'Neq',
  ne: 'Neq',
  lt: 'Lt',
  lte: 'Lte',
  gt: 'Gt',
  gte: 'Gte',
  contains: 'Contains'
}

const OPERATORS = ['eq', 'neq', 'lt', 'lte', 'gt', 'gte', 'in', 'contains', 'is_null']

/** Reads the objects of `where` and `filter`. Collects values in the order in which the predicate uses them. */
export class PredicateReader {
  readonly args: DbArgument[] = []
  readonly problems: Diagnostic[]
  readonly #columns: Columns | undefined

  /** If `columns` is undefined, since the table is unknown, column names are not checked. */
  constructor(columns: Columns | undefined, problems: Diagnostic[]) {
    this.#columns = columns
    this.problems = problems
  }

  /** Reads the object of `filter`: every column equals its value. */
  equalities({ entries }: ObjectLiteral): HirPredicate {
    return { And: entries.map(entry => this.#comparison('Eq', this.#column(entry), entryValue(entry))) }
  }

  /** Reads the conditions of one `where` object, which are combined with And. */
  where({ entries }: ObjectLiteral): HirPredicate {
    return joined(entries.flatMap(entry => this.#entry(entry)))
  }

  #entry(entry: ObjectEntry): HirPredicate[] {
    const key = entryKey(entry)
    if (key === 'not' && this.#isLogic(entry)) {
      const inner = bare(entryValue(entry))
      if (inner.kind === 'Object') return [{ Not: this.where(inner) }]
      this.#misuse('`not` takes one object', inner)
      return []
    }
    if ((key === 'and' || key === 'or') && this.#isLogic(entry)) {
      const list = bare(entryValue(entry))
      const parts = list.kind === 'List' ? list.items.map(bare) : [list]
      const objects = parts.filter(part => part.kind === 'Object')
      if (list.kind !== 'List' || objects.length < parts.length || parts.length === 0) {
        this.#misuse(`\`${key}\` takes a list of objects`, list)
      }
      const predicates = objects.map(each => this.where(each))
      return [key === 'and' ? { And: predicates } : { Or: predicates }]
    }
    return this.#conditions(this.#column(entry), entryValue(entry))
  }

  /** True if a key is a logical operator and not a column of that name. */
  #isLogic(entry: ObjectEntry): boolean {
    return this.#columns?.indexOf(entryKey(entry)) === undefined
  }

  /** Reads the conditions on one column: an object of operators, or a value that the column must equal. */
  #conditions(column: string, value: Expression): HirPredicate[] {
    const operators = bare(value)
    if (operators.kind !== 'Object') return [this.#comparison('Eq', column, value)]
    if (operators.entries.length === 0) this.#misuse('a condition needs an operator', operators)
    return operators.entries.flatMap(entry => this.#operator(column, entry))
  }

  #operator(column: string, entry: ObjectEntry): HirPredicate[] {
    const key = entryKey(entry)
    const value = entryValue(entry)
    if (Object.hasOwn(COMPARISONS, key)) return [this.#comparison(COMPARISONS[key] as Comparison, column, value)]
    if (key === 'in') return [this.#membership(column, value)]
    if (key === 'is_null') return this.#nullness(column, value)
    const near = nearName(key, OPERATORS)
    const message = `\`where\` has no operator \`${key}\``
    this.problems.push(
      diagnostic('typecheck.db.unknown_operator', message, entry.key, {
        suggestions: [`the operators are ${[...OPERATORS, 'and', 'or', 'not'].map(each => `\`${each}\``).join(', ')}`],
        ...spellingFix(near, entry.key)
      })
    )
    return []
  }

  #comparison(kind: Comparison, field: string, value: Expression): HirPredicate {
    this.args.push({ name: field, value })
    return { [kind]: { field } } as unknown as HirPredicate
  }

  #membership(field: string, value: Expression): HirPredicate {
    const list = bare(value)
    if (list.kind !== 'List') {
      this.args.push({ name: field, value, isOneOf: true })
      return { In: { field, arity: null } }
    }
    if (list.items.length === 0) {
      this.problems.push(
        diagnostic('typecheck.db.modifier', '`in` with an empty list matches no row', list, {
          suggestions: ['add at least one value']
        })
      )
    }
    for (const item of list.items) this.args.push({ name: field, value: item })
    return { In: { field, arity: list.items.length } }
  }

  #nullness(field: string, value: Expression): HirPredicate[] {
    const bareValue = bare(value)
    if (bareValue.kind === 'Bool') return [bareValue.value ? { IsNull: { field } } : { Not: { IsNull: { field } } }]
    this.problems.push(diagnostic('typecheck.db.type', '`is_null` takes `true` or `false`', bareValue))
    return []
  }

  #column(entry: ObjectEntry): string {
    const column = entryKey(entry)
    const problem = this.#columns?.unknown(column, entry.key)
    if (problem !== undefined) this.problems.push(problem)
    return column
  }

  #misuse(message: string, at: Expression): void {
    this.problems.push(diagnostic('typecheck.db.modifier', message, at))
  }
}

function joined(predicates: readonly HirPredicate[]): HirPredicate {
  const [only] = predicates
  return only !== undefined && predicates.length === 1 ? only : { And: predicates }
}
