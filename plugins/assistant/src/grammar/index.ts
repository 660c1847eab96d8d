// The face of this folder for tests. Sources import the files.
export { isPrefixOf, stateAfter } from './prefix.ts'
export { voxGrammar, voxNamedGrammar } from './vox-grammar.ts'
