// Exports of this folder for tests. Sources import the files directly.
export { check } from './check.ts'
