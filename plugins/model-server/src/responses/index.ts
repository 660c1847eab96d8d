export { DatabaseResponses } from './database-responses.ts'
export { MemoryResponses } from './memory-responses.ts'
export type { ResponseStore, StoredResponse } from './response-store.ts'
