import { open, readFile, rm, stat, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'

/** Heartbeat interval of a writer, and how long it is trusted. A machine may be busy. */
const BEAT_MS = 1_000
const BELIEVED_MS = 10_000
const LOOK_AGAIN_MS = 100

export interface WriterLock {
  /** Whether another process, or another load of this one, held it first: what it wrote may be there now. */
  readonly waited: boolean
  release(): Promise<void>
}

/**
 * Waits until no other process writes `file`, and takes the lock.
 *
 * It saves work, and correctness does not rest on it: where it cannot be taken, or is taken twice because its holder
 * seemed dead, two processes write the same bytes. A holder is dead when its process is gone from this machine or has not
 * touched the lock for ten seconds. Rejects when `signal` is aborted first.
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
    if (await isHeld(lock)) await pause(LOOK_AGAIN_MS, undefined, signal === undefined ? {} : { signal })
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
    // A clock that differs by more says nothing.
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
