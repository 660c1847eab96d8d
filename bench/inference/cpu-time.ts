import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Milliseconds per clock tick in /proc. */
const TICK_MS = 1000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** Returns the CPU time of all threads of a process in milliseconds, with the resolution of a clock tick. */
export function cpuTimeMs(processId: number): number {
  const stat = readFileSync(`/proc/${processId}/stat`, 'utf8')
  // The name, in parentheses, may contain spaces. User and system time are the 12th and 13th field after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}
