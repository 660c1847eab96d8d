// Exports of this folder for tests. Sources import the files directly.
export { CircuitBreaker } from './circuit-breaker.ts'
export { dataDirectory } from './data-directory.ts'
export { journeySteps } from './journey-steps.ts'
export { type DatabaseLocation, locationOf } from './location.ts'
export { databaseBackup, databaseRestore, databaseStatus } from './operations.ts'
export { type PrimaryOptions, PrimaryStore } from './primary-store.ts'
