// Exports of this folder for tests. Sources import the files directly.
export { diffOf, replaced, replacementOf, select } from './lines.ts'
export { inlineEdit } from './operation.ts'
