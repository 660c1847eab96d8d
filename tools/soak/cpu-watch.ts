import { readdirSync, readFileSync } from 'node:fs'
import type { Ledger } from './ledger.ts'
import { pause } from './loads/load.ts'
import type { SvcNode } from './svc-node.ts'

const INTERVAL_MS = 2_000
/** Part of an interval for which a thread may wait for the CPU. On a machine without other work it is below a tenth. */
const MAX_WAITING = 0.4

/**
 * Records when a thread of a node, or of this process, was ready to run and did not get the CPU. Then time limits expire that
 * are long enough on a machine with the CPU time that svc needs.
 */
export async function watchCpu(nodes: readonly SvcNode[], ledger: Ledger, signal: AbortSignal): Promise<void> {
  let before = new Map<string, number>()
  let from = Date.now()
  while (!signal.aborted) {
    await pause(INTERVAL_MS, signal)
    const to = Date.now()
    const after = new Map<string, number>()
    const isStarved = (pid: number | null): boolean => {
      if (pid === null) return false
      let waited = 0
      for (const [thread, delay] of waitingTimes(pid)) {
        after.set(thread, delay)
        waited = Math.max(waited, delay - (before.get(thread) ?? delay))
      }
      return waited > (to - from) * MAX_WAITING
    }
    const isStarvedHere = isStarved(process.pid)
    for (const node of nodes) if (isStarved(node.pid) || isStarvedHere) ledger.starve(node.name, from, to)
    before = after
    from = to
  }
}

/** Returns the milliseconds for which each thread of a process has waited for the CPU since its start. */
function waitingTimes(pid: number): [thread: string, milliseconds: number][] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(thread => {
      const [, delay] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')
      return [`${pid}/${thread}`, Number(delay) / 1_000_000]
    })
  } catch {
    // The process or a thread has just ended.
    return []
  }
}
