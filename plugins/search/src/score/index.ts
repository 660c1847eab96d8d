// Exports of this folder for tests. Sources import the files directly.
export * from './fusion.ts'
export * from './scores.ts'
