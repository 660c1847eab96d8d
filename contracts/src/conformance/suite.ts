import { AssertionError } from 'node:assert'

/** Test case for every implementation of a contract. */
export interface ConformanceCase {
  readonly name: string
  /** Throws an assertion error if it fails. */
  run(): Promise<void>
}

/** Independent cases, in reading order. */
export type ConformanceSuite = readonly ConformanceCase[]

/** Without a message, Node's assert reads the caller's source to compose one, which fails in compiled code. */
export function holds(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new AssertionError({ message: `it does not hold that ${claim}`, stackStartFn: holds })
}
