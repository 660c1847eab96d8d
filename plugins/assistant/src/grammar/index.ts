// Exports of this folder for tests. Sources import the files directly.
export { isPrefixOf, stateAfter } from './prefix.ts'
export { voxGrammar, voxNamedGrammar } from './vox-grammar.ts'
