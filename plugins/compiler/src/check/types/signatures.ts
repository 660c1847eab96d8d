import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { DbTables } from '../../hir/db/db-tables.ts'
import type { Declaration } from '../../syntax/ast.ts'
import type { Expression, ObjectLiteral } from '../../syntax/ast-expressions.ts'
import type { ModuleNames } from '../names/module-names.ts'
import type { TypeReader } from './read-type.ts'
import type { ValueType } from './type.ts'

/** What bodies ask of their module. */
export interface Signatures {
  readonly names: ModuleNames
  readonly tables: DbTables
  readonly reader: TypeReader
  /** What calls of a function give, or what a constant is: as it says, else as its body does. */
  resultOf(declaration: Declaration): ValueType
  /** Levels of syntax that are being read at this moment, counted by who reads them. */
  depth: number
  report(diagnostic: Diagnostic): void
  /** Is told the type that is expected of a record that says less than the type holds. */
  expect(record: ObjectLiteral, type: string): void
  /** Is told the type of each expression that is read; null where nobody asks. */
  readonly observe: ((expression: Expression, type: ValueType) => void) | null
}
