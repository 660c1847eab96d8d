// The face of this folder for tests. Sources import the files.
export { LibsqlEngine } from './libsql-engine.ts'
