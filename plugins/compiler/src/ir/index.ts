// Exports of this folder for tests. Sources import the files directly.
export type { IrModule } from './ir.ts'
export type { IrExpression } from './ir-expressions.ts'
export { lower } from './lower.ts'
