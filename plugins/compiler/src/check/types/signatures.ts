import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Declaration } from '../../syntax/ast.ts'
import type { Expression, ObjectLiteral } from '../../syntax/ast-expressions.ts'
import type { DbTables } from '../../types/db/db-tables.ts'
import type { ModuleNames } from '../names/module-names.ts'
import type { TypeReader } from './read-type.ts'
import type { ValueType } from './type.ts'

/** Information about the module that body checks request. */
export interface Signatures {
  readonly names: ModuleNames
  readonly tables: DbTables
  readonly reader: TypeReader
  /** Returns the result type of a function, or the type of a constant: declared, or else inferred from its body. */
  resultOf(declaration: Declaration): ValueType
  /** Current depth of nested inferences, in syntax levels. */
  depth: number
  report(diagnostic: Diagnostic): void
  /** Called with the expected type of a record literal that omits members of the type. */
  expect(record: ObjectLiteral, type: string): void
  /** Called with the type of each expression; null if not needed. */
  readonly observe: ((expression: Expression, type: ValueType) => void) | null
}
