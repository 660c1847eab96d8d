// Exports for tests. Sources import the files directly.
export { type ChangedFile, type GitStatus, parseStatus } from './git-status.ts'
