// Exports of this folder for tests. Sources import the files directly.
export { ChangeFeed } from './change-feed.ts'
export { type LiveService, openLive } from './live-service.ts'
export type { RunQuery as AskQuery } from './query-watches.ts'
