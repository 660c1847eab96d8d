// Exports of this folder for tests. Sources import the files directly.
export { sessionOf, taskOf } from './doubt-question.ts'
