import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { secretErrors } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'

const WAIT_MS = 5_000
const PAUSE_MS = 20

/** Runs a function in one process at a time. The lock of a process that ended is removed. Throws `SEC_STORE_FAILED`. */
export async function withFileLock<A>(path: string, run: () => A | Promise<A>): Promise<A> {
  const lock = `${path}.lock`
  const until = performance.now() + WAIT_MS
  while (!acquire(lock)) {
    const owner = ownerOf(lock)
    if (owner !== null && !isAlive(owner)) rmSync(lock, { force: true })
    else if (performance.now() > until)
      throw secretErrors.create('SEC_STORE_FAILED', `${lock}: another process holds the lock`, {
        at: { file: lock },
        hint: 'try again, or remove the file if no svc runs'
      })
    else await sleep(PAUSE_MS)
  }
  try {
    return await run()
  } finally {
    rmSync(lock, { force: true })
  }
}

function acquire(lock: string): boolean {
  try {
    mkdirSync(dirname(lock), { recursive: true, mode: 0o700 })
    writeFileSync(lock, String(process.pid), { mode: 0o600, flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw secretErrors.create('SEC_STORE_FAILED', `${lock}: ${errorMessage(error)}`, {
      at: { file: lock },
      hint: 'correct the permissions of the folder',
      cause: error
    })
  }
}

/** Returns the process id in a lock; null while its owner writes it, or after it was removed. */
function ownerOf(lock: string): number | null {
  try {
    const pid = Number(readFileSync(lock, 'utf8'))
    return Number.isSafeInteger(pid) && pid > 0 ? pid : null
  } catch {
    return null
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
