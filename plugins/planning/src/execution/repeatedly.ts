import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Runs a function after `first` milliseconds, and again `pause` milliseconds after each run, until the signal is
 * aborted. Does not keep the process alive.
 */
export async function repeatedly(
  first: number,
  pause: number,
  signal: AbortSignal,
  run: () => Promise<void>
): Promise<void> {
  let wait = first
  while (!signal.aborted) {
    try {
      await sleep(wait, undefined, { signal, ref: false })
    } catch {
      return
    }
    await run()
    wait = pause
  }
}
