// Public entry of this folder for tests. Source files import the modules directly.
export type { HirExpression, HirModule } from './hir.ts'
export { lower } from './lower.ts'
