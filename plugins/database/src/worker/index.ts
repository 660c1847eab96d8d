// Exports of this folder for tests. Sources import the files directly.
export { LibsqlEngine } from './libsql-engine.ts'
