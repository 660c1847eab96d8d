// Exports of this folder for tests. Sources import the files directly.
export { quote } from './material.ts'
export { chat } from './operation.ts'
