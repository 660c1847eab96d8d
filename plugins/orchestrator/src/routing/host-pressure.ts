import { availableParallelism, freemem, loadavg, totalmem } from 'node:os'

/** Load of the host, as fractions in [0, 1]. */
export interface HostPressure {
  readonly cpu: number
  readonly memory: number
}

/** Measures the load average of the last minute per core (0 on Windows), and the share of memory in use. */
export function hostPressure(): HostPressure {
  const [lastMinute = 0] = loadavg()
  return { cpu: Math.min(lastMinute / availableParallelism(), 1), memory: 1 - freemem() / totalmem() }
}
