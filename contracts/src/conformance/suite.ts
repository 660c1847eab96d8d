import { AssertionError } from 'node:assert'

/** Test case for every implementation of a contract. */
export interface ConformanceCase {
  readonly name: string
  /** Throws an assertion error if it fails. */
  run(): Promise<void>
}

/** Independent cases, in reading order. */
export type ConformanceSuite = readonly ConformanceCase[]

/**
 * Throws an AssertionError with the claim if the condition is false. Without a message, Node's assert composes one from
 * the caller's source, which fails in compiled code.
 */
export function holds(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new AssertionError({ message: `expected: ${claim}`, stackStartFn: holds })
}
