// Exports of this folder for tests. Sources import the files directly.
export { BASELINE_TABLES, baselineDigest } from './schema.ts'
