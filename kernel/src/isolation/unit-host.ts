import type { UnitHosts } from '../core/unit-host.ts'
import { isolated } from './isolated-unit.ts'

/** Runs units in a worker or a process. */
export const isolationHosts: UnitHosts = { worker: isolated, process: isolated }
