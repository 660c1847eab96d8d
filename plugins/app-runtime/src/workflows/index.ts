// Exports of this folder for tests. Sources import the files directly.
export { callOptions, OPTIONS_OF } from './call-options.ts'
export { databaseDurable } from './database-durable.ts'
export { entry, type JournalEntry } from './journal.ts'
export { memoryDurable, skippingDurable } from './memory-durable.ts'
export { openRuns, pruneHandler } from './operations.ts'
export { ownerOf } from './owner.ts'
export { countExpendable, pruneRuns } from './prune.ts'
export type { RunRecord, WorkflowStore } from './workflow-store.ts'
