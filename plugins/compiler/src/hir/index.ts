// Exports of this folder for tests. Sources import the files directly.
export type { HirExpression, HirModule } from './hir.ts'
export { lower } from './lower.ts'
