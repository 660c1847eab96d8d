// Exports of this folder for tests. Sources import the files directly.
export { searchKnowledge } from './knowledge-search.ts'
export { searchRepository } from './repository-search.ts'
export { queryTerms } from './terms.ts'
