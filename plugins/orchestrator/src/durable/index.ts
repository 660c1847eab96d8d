// Exports of this folder for tests. Sources import the files directly.
export type { CommitSettings } from './database-committer.ts'
export { type DatabasePersistenceOptions, openDatabasePersistence } from './database-persistence.ts'
export { IdBlocks } from './ids.ts'
export type { Persistence, Recovery } from './persistence.ts'
export { Seats } from './seats.ts'
