// Exports of this folder for tests. Sources import the files directly.
export { Announcements } from './announcements.ts'
export { workflowName } from './goals.ts'
export type { PlanTask } from './plan-task.ts'
