import type { ConformanceSuite } from '../suite.ts'
import { type CoordinationSubject, eachStore } from './bed.ts'
import { claimCases } from './claims.ts'
import { delayCases } from './delays.ts'
import { faultCases } from './faults.ts'
import { laneCases } from './lanes.ts'
import { namedLeaseCases } from './named-leases.ts'
import { nodeCases } from './nodes.ts'
import { readingCases } from './reading.ts'
import { sharedValueCases } from './shared-values.ts'

export type { CoordinationBed, CoordinationSubject } from './bed.ts'

/** Cases for every implementation of the contract `Coordination`. Each call returns new cases. */
export function coordinationSuite(subject: CoordinationSubject): ConformanceSuite {
  const each = eachStore(subject)
  return [
    ...claimCases(each),
    ...delayCases(each),
    ...laneCases(each),
    ...readingCases(each),
    ...namedLeaseCases(each),
    ...nodeCases(each),
    ...sharedValueCases(each),
    ...faultCases(each)
  ]
}
