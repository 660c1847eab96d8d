import { setTimeout as sleep } from 'node:timers/promises'
import { type DaemonState, readDaemonState } from '@svc/contracts'

/** Resolves to the state of the daemon of a project. Its file is written a moment after the daemon listens. */
export async function daemonStateOf(root: string): Promise<DaemonState> {
  for (;;) {
    const state = await readDaemonState(root)
    if (state !== null) return state
    await sleep(5)
  }
}
