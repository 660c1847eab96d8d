import { readFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { isSmoke } from '../smoke-mode.ts'

const LOOK_MS = 100
/** Maximum CPU utilisation of an idle machine, as a share of all cores. */
const QUIET = 0.1

/**
 * Resolves when the machine is idle, or at the time limit. Resolves immediately if the system does not report its load.
 */
export async function quietMoment(patienceMs: number): Promise<void> {
  if (isSmoke) return
  const until = performance.now() + patienceMs
  let before = await busyTicks()
  while (before !== null && performance.now() < until) {
    const start = performance.now()
    await pause(LOOK_MS)
    const after = await busyTicks()
    if (after === null) return
    // A tick is a hundredth of a second.
    const share = ((after - before) * 10) / (performance.now() - start) / cpus().length
    if (share < QUIET) return
    before = after
  }
}

async function busyTicks(): Promise<number | null> {
  const text = await readFile('/proc/stat', 'utf8').catch(() => null)
  const [user = 0, nice = 0, system = 0] = text?.split('\n')[0]?.split(/\s+/).slice(1).map(Number) ?? []
  return text === null ? null : user + nice + system
}
