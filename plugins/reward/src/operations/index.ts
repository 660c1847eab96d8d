// Exports of this folder for tests. Sources import the files directly.
export { explainCommandHandler, hintExplain } from './hint-explain.ts'
export { operations } from './implement.ts'
