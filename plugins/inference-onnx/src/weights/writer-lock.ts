import { open, readFile, rm, stat, utimes } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { ownIdentity, type ProcessIdentity, presenceOf } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'

/** Interval at which a writer touches its lock. */
const HEARTBEAT_MS = 1_000
/** Age at which a lock counts as abandoned. Generous, because machines may be busy. */
const HEARTBEAT_TIMEOUT_MS = 10_000
const POLL_MS = 100

export interface WriterLock {
  /** True if another process, or another load in this one, held the lock before; its output may exist now. */
  readonly waited: boolean
  release(): Promise<void>
}

/**
 * Waits until no other process writes `file`, and acquires the lock.
 *
 * The lock saves work, but correctness does not depend on it: concurrent writers write equal bytes. A lock is abandoned
 * if its process has certainly ended, or has not touched it for ten seconds. Rejects if `signal` is aborted first.
 */
export async function lockForWriting(file: string, signal?: AbortSignal): Promise<WriterLock> {
  const lock = `${file}.writer`
  for (let waited = false; ; waited = true) {
    signal?.throwIfAborted()
    try {
      const handle = await open(lock, 'wx')
      await handle.write(JSON.stringify(ownIdentity()))
      await handle.close()
      return { waited, release: startHeartbeat(lock) }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return { waited, release: async () => {} }
    }
    if (await isHeld(lock)) await pause(POLL_MS, undefined, defined({ signal }))
    else if (!(await isRemoved(lock))) return { waited, release: async () => {} }
  }
}

function startHeartbeat(lock: string): () => Promise<void> {
  const heartbeat = setInterval(() => void utimes(lock, new Date(), new Date()).catch(() => {}), HEARTBEAT_MS)
  return async () => {
    clearInterval(heartbeat)
    await isRemoved(lock)
  }
}

function isRemoved(lock: string): Promise<boolean> {
  return rm(lock, { force: true }).then(
    () => true,
    () => false
  )
}

async function isHeld(lock: string): Promise<boolean> {
  try {
    const { mtimeMs } = await stat(lock)
    // A timestamp far in the future counts as abandoned too: the clocks differ too much.
    if (Math.abs(Date.now() - mtimeMs) > HEARTBEAT_TIMEOUT_MS) return false
    return presenceOf(identityOf(await readFile(lock, 'utf8'))) !== 'dead'
  } catch {
    return false
  }
}

/** Parses the content of a lock. A lock whose writer was stopped before it wrote anything has no identity. */
function identityOf(text: string): ProcessIdentity {
  try {
    return JSON.parse(text) as ProcessIdentity
  } catch {
    return { host: '', pid: 0, start: null }
  }
}
