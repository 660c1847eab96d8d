import type { UnitHosts } from '../core/unit-host.ts'
import { activateIsolated } from './isolated-unit.ts'

/** Runs units in a worker or a process. */
export const isolationHosts: UnitHosts = {
  worker: { activate: activateIsolated },
  process: { activate: activateIsolated }
}
