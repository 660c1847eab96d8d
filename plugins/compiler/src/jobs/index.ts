// Exports of this folder for tests. Sources import the files directly.
export { type CompileJob, doJob } from './compile-job.ts'
export { compileSource, MAX_INLINE_CHARS } from './compile-thread.ts'
