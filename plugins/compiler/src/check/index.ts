// Exports of this folder for tests. Sources import the files directly.
export { check, checkModule } from './check.ts'
