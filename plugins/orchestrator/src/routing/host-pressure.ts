import { availableParallelism, freemem, loadavg, totalmem } from 'node:os'

/** How busy the host is, as fractions in [0, 1]. */
export interface HostPressure {
  readonly cpu: number
  readonly memory: number
}

/** Runnable processes of the last minute for each core (0 where the system does not count them), and memory that is not free. */
export function hostPressure(): HostPressure {
  const [lastMinute = 0] = loadavg()
  return { cpu: Math.min(lastMinute / availableParallelism(), 1), memory: 1 - freemem() / totalmem() }
}
