import type { Hir, HirInclude } from '@svc/contracts'
import { NONE, type RecordValue, some, Tagged, type Value } from '../interpreter/value.ts'
import type { ProgramDatabase } from './program-database.ts'
import { bound, QueryParts } from './query-parts.ts'
import type { TableShape } from './table-shape.ts'

/** Adds the referenced rows to rows. */
export type Include = (database: ProgramDatabase, rows: readonly RecordValue[]) => readonly RecordValue[]

/** A referenced table with the declared name. */
export type ShapeOf = (table: string) => TableShape | undefined

/** Columns that must be loaded for the included rows. */
export function referenceColumns({ plan }: Pick<Hir.Db, 'plan'>): readonly string[] {
  return (plan.includes ?? []).map(({ field }) => field)
}

/**
 * Returns the function that loads the referenced rows, with one statement for each reference; null if there are none. A
 * reference without a row is None. `projection` holds the columns that the program selects.
 */
export function includeOf({ plan }: Pick<Hir.Db, 'plan'>, shapeOf: ShapeOf): Include | null {
  const { includes = [], projection } = plan
  if (includes.length === 0) return null
  const loaders = includes.map(include => loaderOf(include, projection, shapeOf))
  return (database, rows) => loaders.reduce((loaded, load) => load(database, loaded), rows)
}

function loaderOf({ name, field, table }: HirInclude, projection: readonly string[] | null, shapeOf: ShapeOf): Include {
  const shape = shapeOf(table)
  const isHidden = name !== field && projection !== null && !projection.includes(field)
  const load = shape === undefined ? null : loadByIds(shape)
  return (database, rows) => {
    const ids = rows.map(row => idIn(row.get(field)))
    const wanted = new Set(ids.filter(id => id !== null))
    const found = load === null || wanted.size === 0 ? null : load(database, [...wanted])
    return rows.map((row, index) => {
      const copy = new Map(row)
      if (isHidden) copy.delete(field)
      const id = ids[index] ?? null
      const referenced = id === null ? undefined : found?.get(id)
      return copy.set(name, referenced === undefined ? NONE : some(referenced))
    })
  }
}

type Ids = number | bigint

function loadByIds(shape: TableShape): (database: ProgramDatabase, ids: readonly Ids[]) => Map<Ids, RecordValue> {
  const plan = {
    table: shape.name,
    op: 'FilterRecord',
    predicate: { In: { field: shape.id.name, arity: null } },
    projection: null,
    order_by: null,
    has_limit: false,
    capabilities: {
      requires_sync: false,
      emits_change_log: false,
      live_topic: null,
      retrieval_mode: null,
      orchestration_scope: null
    }
  } as const
  const parts = new QueryParts(shape, { plan })
  const sql = `SELECT ${shape.whole.sql} FROM ${parts.from()}`
  return (database, ids) => {
    const rows = database.rows(shape.name, sql, bound(parts.binders, [ids]))
    return new Map(rows.map(row => [row[0] as Ids, shape.whole.read(row)]))
  }
}

/** Returns the id in a column; null if there is none. */
function idIn(value: Value | undefined): Ids | null {
  const id = value instanceof Tagged && value.tag === 'Some' ? value.fields[0] : value
  return typeof id === 'number' || typeof id === 'bigint' ? id : null
}
