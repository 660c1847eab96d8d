// The face of this folder for tests. Sources import the files.
export type { TestResult } from './run-tests.ts'
