// Exports of this folder for tests. Sources import the files directly.
export { LogFile, readLogLines } from './log-file.ts'
export { Ring } from './ring.ts'
