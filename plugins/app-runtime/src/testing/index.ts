// Exports of this folder for tests. Sources import the files directly.
export type { TestResult } from './run-tests.ts'
