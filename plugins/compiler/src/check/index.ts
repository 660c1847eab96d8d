// The face of this folder for tests. Sources import the files.
export { check } from './check.ts'
