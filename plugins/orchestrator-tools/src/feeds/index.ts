// Exports of this folder for tests. Sources import the files directly.
export type { AgentRow } from './agent-row.ts'
export { agentsFeed, tasksFeed } from './feeds.ts'
export { LiveRows } from './live-rows.ts'
export type { TaskRow } from './task-row.ts'
