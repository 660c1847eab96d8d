// The face of this folder for tests. Sources import the files.
export { quote } from './material.ts'
export { chat } from './operation.ts'
