import { open, readFile, rm, stat, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { defined } from '@svc/plugin-sdk'

/** Heartbeat interval of a writer, and its timeout. Generous, since a machine may be busy. */
const BEAT_MS = 1_000
const BELIEVED_MS = 10_000
const LOOK_AGAIN_MS = 100

export interface WriterLock {
  /** True if another process, or another load in this one, held the lock first: its output may exist now. */
  readonly waited: boolean
  release(): Promise<void>
}

/**
 * Waits until no other process writes `file`, and takes the lock.
 *
 * It saves work but is not needed for correctness: two concurrent writers write equal bytes. A holder is dead if its
 * process is gone from this machine or has not touched the lock for ten seconds. Rejects when `signal` is aborted
 * first.
 */
export async function lockForWriting(file: string, signal?: AbortSignal): Promise<WriterLock> {
  const lock = `${file}.writer`
  for (let waited = false; ; waited = true) {
    signal?.throwIfAborted()
    try {
      const handle = await open(lock, 'wx')
      await handle.write(`${hostname()} ${process.pid}`)
      await handle.close()
      return { waited, release: heldBy(lock) }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return { waited, release: async () => {} }
    }
    if (await isHeld(lock)) await pause(LOOK_AGAIN_MS, undefined, defined({ signal }))
    else if (!(await isRemoved(lock))) return { waited, release: async () => {} }
  }
}

function heldBy(lock: string): () => Promise<void> {
  const beat = setInterval(() => void utimes(lock, new Date(), new Date()).catch(() => {}), BEAT_MS)
  return async () => {
    clearInterval(beat)
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
    // A larger clock difference makes the timestamp useless.
    if (Math.abs(Date.now() - mtimeMs) > BELIEVED_MS) return false
    const [host, pid] = (await readFile(lock, 'utf8')).split(' ')
    return host !== hostname() || isAlive(Number(pid))
  } catch {
    return false
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
