import { setTimeout as delay } from 'node:timers/promises'
import { ownIdentity, type ProcessIdentity, presenceOf } from '@svc/contracts'
import { claim, release } from '@svc/contracts/claim-file'

/** Maximum wait for another process, in milliseconds. */
const WAIT_MS = 30_000
const STEP_MS = 50

/**
 * Runs a function in one process at a time. The lock of a process that ended is taken over. Throws an error of the
 * system if the lock file cannot be written, the result of `busy` after 30 seconds, and the signal's reason.
 */
export async function withFileLock<A>(
  path: string,
  run: () => A | Promise<A>,
  busy: () => Error,
  signal?: AbortSignal
): Promise<A> {
  const text = JSON.stringify({ ...ownIdentity(), claim: crypto.randomUUID() })
  const until = performance.now() + WAIT_MS
  while ((await claim(path, text, isHeld)) !== null) {
    signal?.throwIfAborted()
    if (performance.now() > until) throw busy()
    await delay(STEP_MS)
  }
  try {
    return await run()
  } finally {
    await release(path, text).catch(() => undefined)
  }
}

async function isHeld(text: string): Promise<boolean> {
  try {
    return presenceOf(JSON.parse(text) as ProcessIdentity) === 'alive'
  } catch {
    return false
  }
}
