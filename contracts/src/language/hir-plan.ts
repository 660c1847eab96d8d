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

/** Plan of a store operation, without the values. */
export interface HirDbPlan {
  readonly table: string
  readonly op: HirDbOperator
  readonly predicate: HirPredicate | null
  /** Columns in the order of their declaration. */
  readonly projection: readonly string[] | null
  readonly order_by: readonly [column: string, ascending: boolean] | null
  readonly has_limit: boolean
  readonly capabilities: HirDbCapabilities
}
