// Exports for tests of other plugins.
export { applyBaseline } from './baseline/apply.ts'
export { seedStatements } from './baseline/journeys.ts'
export { databaseStatus } from './operations.ts'
export { PrimaryStore } from './primary-store.ts'
export { openRemote } from './remote/remote-store.ts'
export { openFile, openMemory } from './store/local-store.ts'
export { FileConnection } from './thread/file-connection.ts'
export { LibsqlEngine } from './worker/libsql-engine.ts'
