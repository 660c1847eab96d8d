import type { Hir } from '@svc/contracts'
import type { Expression, Statement } from '../syntax/ast.ts'
import type { BodyScope } from './body-scope.ts'
import type { ModuleScope } from './module-scope.ts'

/** Lowering of inner expressions, which the parts of the lowering call. */
export interface Lowering {
  readonly module: ModuleScope
  readonly scope: BodyScope
  /** Lowers a value. The answer of a database operation is its value: a failure throws. */
  value(expression: Expression): Hir.Expr
  /** Lowers a value, but keeps the answer of a database operation as a Result. */
  result(expression: Expression): Hir.Expr
  statement(statement: Statement): Hir.Stmt
}
