// Exports of this folder for tests. Sources import the files directly.
export { Fleet, type FleetParts } from './fleet.ts'
export { stubProcessor } from './stub-processor.ts'
export { TokenBatches } from './token-batches.ts'
