// Exports of this folder for tests. Sources import the files directly.
export { confidenceOf } from './confidence.ts'
export { EMPTY_LEXICON, LexiconFile, parseLexicon } from './lexicon.ts'
export { refine } from './refine.ts'
