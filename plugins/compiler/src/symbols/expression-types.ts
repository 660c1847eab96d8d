import { moduleNames } from '../check/names/module-names.ts'
import { ModuleTypes } from '../check/types/module-types.ts'
import type { TypeReader } from '../check/types/read-type.ts'
import type { ValueType } from '../check/types/type.ts'
import type { Module } from '../syntax/ast.ts'
import type { Expression } from '../syntax/ast-expressions.ts'
import { tablesOf } from '../types/db/db-tables.ts'

/** Types of all expressions of a module, as far as known. */
export interface ExpressionTypes {
  readonly byExpression: ReadonlyMap<Expression, ValueType>
  readonly reader: TypeReader
}

export function expressionTypes(module: Module): ExpressionTypes {
  const byExpression = new Map<Expression, ValueType>()
  const { reader } = new ModuleTypes(module, moduleNames(module), tablesOf(module), (expression, type) => {
    byExpression.set(expression, type)
  })
  return { byExpression, reader }
}
