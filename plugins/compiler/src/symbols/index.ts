// Public entry of this folder for tests. Source files import the modules directly.
export { expressionTypes } from './expression-types.ts'
export { indexSymbols } from './index-symbols.ts'
export type { SymbolIndex } from './symbol-index.ts'
