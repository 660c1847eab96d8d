// Exports of this folder for tests. Sources import the files directly.
export { format } from './format.ts'
