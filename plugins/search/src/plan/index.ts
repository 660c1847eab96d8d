// Exports of this folder for tests. Sources import the files directly.
export { planSearch } from './planner.ts'
export { queryTerms } from './words.ts'
