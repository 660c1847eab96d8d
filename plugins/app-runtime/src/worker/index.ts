// Exports of this folder for tests. Sources import the files directly.
export type { Job, RunWork, TestWork } from './job.ts'
export { runInThread, type ThreadResult } from './run-in-thread.ts'
