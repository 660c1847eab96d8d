// Exports of this folder for tests. Sources import the files directly.
export { CachePool } from './cache-pool.ts'
export type { CacheRow } from './cache-rows.ts'
export { FairQueue } from './fair-queue.ts'
export { arrange, gather } from './placement.ts'
export { promptsWith, type WaitingPrompt } from './prompt-groups.ts'
export { PromptLookup } from './prompt-lookup.ts'
export { RunCosts, Speculation } from './speculation.ts'
