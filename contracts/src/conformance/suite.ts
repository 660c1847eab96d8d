import { AssertionError } from 'node:assert'

/** One thing that holds for every implementation of a contract. */
export interface ConformanceCase {
  readonly name: string
  /** Throws an assertion error when it does not hold. */
  run(): Promise<void>
}

/** Cases that do not depend on each other, in the order in which they are best read. */
export type ConformanceSuite = readonly ConformanceCase[]

/** Node's own check without a message reads the caller's source to make one up, which ends badly in compiled code. */
export function holds(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new AssertionError({ message: `it does not hold that ${claim}`, stackStartFn: holds })
}
