// Exports of this folder for tests. Sources import the files directly.
export { type MergeOptions, mergeAdapter } from './merge-adapter.ts'
