import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { DbTables } from '../../hir/db/db-tables.ts'
import type { Declaration } from '../../syntax/ast.ts'
import type { Expression, ObjectLiteral } from '../../syntax/ast-expressions.ts'
import type { ModuleNames } from '../names/module-names.ts'
import type { TypeReader } from './read-type.ts'
import type { ValueType } from './type.ts'

/** Questions that bodies ask their module. */
export interface Signatures {
  readonly names: ModuleNames
  readonly tables: DbTables
  readonly reader: TypeReader
  /** Result type of a function, or type of a constant: the declared type, else the type of its body. */
  resultOf(declaration: Declaration): ValueType
  /** Current depth of nested reads, in syntax levels. */
  depth: number
  report(diagnostic: Diagnostic): void
  /** Called with the expected type of a record that has fewer members than the type. */
  expect(record: ObjectLiteral, type: string): void
  /** Called with the type of each expression; null when not needed. */
  readonly observe: ((expression: Expression, type: ValueType) => void) | null
}
