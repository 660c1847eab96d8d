// The face of this folder for tests. Sources import the files.
export type { HirExpression, HirModule } from './hir.ts'
export { lower } from './lower.ts'
