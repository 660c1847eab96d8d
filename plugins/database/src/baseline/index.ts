// The face of this folder for tests. Sources import the files.
export { BASELINE_TABLES, baselineDigest } from './schema.ts'
