// Exports of this folder for tests. Sources import the files directly.
export { mergeCommand, runMerge } from './command.ts'
export { type MergeOptions, mergeAdapter } from './merge-adapter.ts'
