// Exports of this folder for tests. Sources import the files directly.
export { codeOf, fenced } from './code-of.ts'
export { runGenerate } from './command.ts'
export { LANGUAGE_CARD } from './language-card.ts'
export { generateCode } from './operation.ts'
