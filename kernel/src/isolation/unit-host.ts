import type { UnitHosts } from '../core/unit-host.ts'
import { isolated } from './isolated-unit.ts'

/** Hosts for units in worker threads and processes. */
export const isolationHosts: UnitHosts = { worker: isolated, process: isolated }
