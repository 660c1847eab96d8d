// Exports of this folder for tests. Sources import the files directly.
export { planSearch } from './planner.ts'
export { countSingulars, queryTerms, singular, wordForms } from './words.ts'
