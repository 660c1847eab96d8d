// Exports of this folder for tests. Sources import the files directly.
export { limited } from './limited.ts'
