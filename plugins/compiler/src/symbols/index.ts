// Exports of this folder for tests. Sources import the files directly.
export { indexSymbols } from './index-symbols.ts'
export type { SymbolIndex } from './symbol-index.ts'
