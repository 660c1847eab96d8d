import type { Hir, SqlParameter } from '@svc/contracts'
import type { Value } from '../interpreter/value.ts'
import { type Binder, type Condition, conditionOf } from './predicate-sql.ts'
import type { ProgramDatabase } from './program-database.ts'
import { type SearchNeed, searchPlan } from './search-sql.ts'
import type { TableShape } from './table-shape.ts'

/** Parts of the SQL of a query that all its forms share. */
export class QueryParts {
  readonly shape: TableShape
  /** SQL before SELECT, with a space after it. */
  readonly head: string
  /** The table with its joins. */
  readonly table: string
  /** SQL of the condition; null for all rows. */
  readonly condition: string | null
  /** Parameters of `head` and `condition`. */
  readonly binders: readonly Binder[]
  /** Sorts the best match of a search first; null for other queries. */
  readonly searchOrder: Condition | null
  readonly #needs: readonly SearchNeed[] | null
  readonly #syncs: boolean

  /** `limitIndex` is the index of the limit among the values, for a search that the limit applies to. */
  constructor(shape: TableShape, { plan }: Pick<Hir.Db, 'plan'>, limitIndex: number | null = null) {
    const { predicate, capabilities } = plan
    const { retrieval_mode: mode, requires_sync } = capabilities
    const search = mode === null || predicate === null ? null : searchPlan(shape, predicate, mode, limitIndex)
    const condition = search?.condition ?? (predicate === null ? null : conditionOf(predicate, shape))
    const before = search?.before ?? null
    this.shape = shape
    this.head = before === null ? '' : `${before.sql} `
    this.table = `${shape.sql}${search?.join ?? ''}`
    const rule = shape.rules?.of('read') ?? null
    const conditions = [condition, rule].flatMap(each => (each === null ? [] : each.sql))
    this.condition = conditions.length > 1 ? conditions.map(each => `(${each})`).join(' AND ') : (conditions[0] ?? null)
    this.binders = [...(before?.binders ?? []), ...(condition?.binders ?? []), ...(rule?.binders ?? [])]
    this.searchOrder = search?.order ?? null
    this.#needs = search?.needs ?? null
    this.#syncs = requires_sync
  }

  /** Returns the table and the condition as SQL. `and` is another condition. */
  from(and: string | null = null): string {
    const conditions = [this.condition, and].filter(each => each !== null)
    const where = conditions.length > 1 ? conditions.map(each => `(${each})`).join(' AND ') : (conditions[0] ?? null)
    return where === null ? this.table : `${this.table} WHERE ${where}`
  }

  /** Prepares the database. Throws `RUN_UNSUPPORTED` if it lacks a feature of the search. */
  prepare(database: ProgramDatabase): void {
    if (this.#needs !== null) database.assertCan(this.#needs, this.shape.name)
    if (this.#syncs) database.sync()
  }
}

/** Computes the parameters of a statement. */
export function bound(binders: readonly Binder[], values: readonly Value[]): SqlParameter[] {
  const parameters: SqlParameter[] = []
  for (let index = 0; index < binders.length; index++) parameters.push((binders[index] as Binder)(values))
  return parameters
}
