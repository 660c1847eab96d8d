// Exports of this folder for tests. Sources import the files directly.
export type { DatabaseAccess } from './access.ts'
export { openJobDatabase } from './job-database.ts'
export { ProgramDatabase } from './program-database.ts'
export { rawSqlUseOf } from './raw-sql-use.ts'
