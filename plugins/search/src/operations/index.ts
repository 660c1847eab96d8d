// Exports of this folder for tests. Sources import the files directly.
export * from './corpus-operations.ts'
export { forgetKnowledge, listKnowledge, storeKnowledge } from './knowledge-operations.ts'
export * from './memory-operations.ts'
export { resultsOperation } from './results-operation.ts'
