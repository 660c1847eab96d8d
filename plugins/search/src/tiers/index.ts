// Exports of this folder for tests. Sources import the files directly.
export * from './candidates.ts'
export * from './passages.ts'
