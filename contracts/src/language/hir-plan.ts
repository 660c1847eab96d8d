export type HirDbOperator =
  | 'Insert'
  | 'Get'
  | 'Delete'
  | 'All'
  | 'FilterRecord'
  | 'Count'
  | 'UnsafeQueryRawClause'
  /** `db.T.update(id, record)`: an extension. */
  | 'Update'
  /** `sum`, `avg`, `min`, `max`, `aggregate` and everything after `group_by`: an extension. */
  | 'Aggregate'

interface OnField {
  readonly field: string
}

export type HirPredicate =
  | { readonly Eq: OnField }
  | { readonly Neq: OnField }
  | { readonly Lt: OnField }
  | { readonly Lte: OnField }
  | { readonly Gt: OnField }
  | { readonly Gte: OnField }
  | { readonly Contains: OnField }
  | { readonly IsNull: OnField }
  /** The arguments contain `arity` values; null: one list whose length is only known at run time. */
  | { readonly In: { readonly field: string; readonly arity: number | null } }
  | { readonly And: readonly HirPredicate[] }
  | { readonly Or: readonly HirPredicate[] }
  | { readonly Not: HirPredicate }

export interface HirDbCapabilities {
  readonly requires_sync: boolean
  readonly emits_change_log: boolean
  readonly live_topic: string | null
  readonly retrieval_mode: 'Fts' | 'Vector' | 'Hybrid' | null
  readonly orchestration_scope: string | null
}

/** A value computed from many rows. */
export interface HirAggregate {
  /** Member of the result. */
  readonly name: string
  readonly function: 'Count' | 'Sum' | 'Avg' | 'Min' | 'Max'
  /** null for `Count`, which counts rows. */
  readonly field: string | null
}

/** Aggregates of all rows, or of each group of rows with equal values. */
export interface HirAggregation {
  /** null: one result for all rows. */
  readonly groups: readonly string[] | null
  readonly values: readonly HirAggregate[]
  /** True if the result is the only value itself, as of `sum("amount")`, not a record. */
  readonly isScalar: boolean
}

/** A referenced row that is loaded with each row. */
export interface HirInclude {
  /** Member of the result that holds the referenced row. */
  readonly name: string
  /** Column with the id; equal to `name` if the row replaces the id. */
  readonly field: string
  readonly table: string
}

/** Plan of a store operation, without the values. Programs without a newer feature do not have the optional keys. */
export interface HirDbPlan {
  readonly table: string
  readonly op: HirDbOperator
  readonly predicate: HirPredicate | null
  /** Columns in the order of their declaration. */
  readonly projection: readonly string[] | null
  readonly order_by: readonly [column: string, ascending: boolean] | null
  readonly has_limit: boolean
  readonly capabilities: HirDbCapabilities
  /** With `Aggregate`. `order_by` may then name a group or a value. */
  readonly aggregation?: HirAggregation
  readonly includes?: readonly HirInclude[]
}
