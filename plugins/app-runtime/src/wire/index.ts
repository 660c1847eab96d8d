// Exports of this folder for tests. Sources import the files directly.
export { parseClientJson, parseJson, printJson } from './json-text.ts'
export { losslessText, losslessValue } from './lossless.ts'
export { WireTypes } from './wire-types.ts'
