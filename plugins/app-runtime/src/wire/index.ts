// Exports of this folder for tests. Sources import the files directly.
export { parseJson, printJson } from './json-text.ts'
export { losslessText, losslessValue } from './lossless.ts'
export { WireTypes } from './wire-types.ts'
