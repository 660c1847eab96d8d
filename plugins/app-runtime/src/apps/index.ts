// Exports of this folder for tests. Sources import the files directly.
export { RowLog, rowLogState } from './row-log.ts'
