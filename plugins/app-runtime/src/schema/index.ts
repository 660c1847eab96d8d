// Exports of this folder for tests. Sources import the files directly.
export { applySchema, diffSchema } from './db-commands.ts'
export { createTable, desiredSchema } from './desired-schema.ts'
export { migrateSchema, type SchemaOptions, type SchemaOutcome } from './migrate.ts'
export { CHANGES_TABLE, changesStatements } from './triggers.ts'
