import type { Hir, HirDbPlan } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import type { Call, Expression } from '../syntax/ast-expressions.ts'
import type { DbOperation } from '../types/db/chain.ts'
import type { Lowering } from './lowering.ts'

/** True for an operation on a table, and for `db.query(…)`. */
export function isDatabaseCall({ module }: Lowering, expression: Expression): boolean {
  return expression.kind === 'Call' && (isRaw(expression) || module.typed.chainOf(expression) !== null)
}

/** True for `db.query(…)`. */
function isRaw({ callee }: Call): boolean {
  if (callee.kind !== 'Member' || callee.property.text !== 'query') return false
  return callee.object.kind === 'Identifier' && callee.object.name === 'db'
}

/** Lowers an operation of the database. `keepsResult`: its value is its Result, so that a failure does not throw. */
export function databaseOf(lowering: Lowering, call: Call, keepsResult: boolean): Hir.Db | Hir.RawSql {
  const { module } = lowering
  const { types } = module
  const value = types.of(module.typeOf(call))
  const type = keepsResult ? types.named('Result', [value, types.named('str')]) : value
  const span = module.span(call)
  const chain = isRaw(call) ? null : module.typed.chainOf(call)
  if (chain === null) {
    const [sql, values] = call.args.map(argument => lowering.value(argument.value))
    const text = sql ?? { kind: 'Unresolved', type: types.any, name: 'db.query without SQL', ...span }
    return { kind: 'RawSql', type, sql: text, values: values ?? null, keepsResult, ...span }
  }
  const { operation } = chain
  const { args, limit, offset, page } = operation
  if (page !== null) module.records.add('Page')
  const maybe = (expression: Expression | null): Hir.Expr | null =>
    expression === null ? null : lowering.value(expression)
  return {
    kind: 'Db',
    type,
    table: operation.table,
    plan: planOf(operation),
    args: args.map(each => ({ name: each.name, value: lowering.value(each.value) })),
    limit: maybe(limit),
    offset: maybe(offset),
    page: page === null ? null : { size: lowering.value(page.size), cursor: maybe(page.cursor) },
    keepsResult,
    ...span
  }
}

function planOf(operation: DbOperation): HirDbPlan {
  const { table, op, predicate, projection, orderBy, limit, capabilities, aggregation, includes } = operation
  return {
    table,
    op,
    predicate,
    projection,
    order_by: orderBy,
    has_limit: limit !== null,
    capabilities,
    ...defined({
      aggregation: aggregation ?? undefined,
      includes: includes.length === 0 ? undefined : includes
    })
  }
}
