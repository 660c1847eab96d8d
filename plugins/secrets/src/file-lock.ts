import { secretErrors, withFileLock } from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'

const WAIT_MS = 5_000

/** Runs a change of a file while no other process changes it. Throws `SEC_STORE_FAILED`. */
export async function changeFile<A>(path: string, run: () => A): Promise<A> {
  const lock = `${path}.lock`
  const failure = (why: string, hint: string, cause?: unknown): Error =>
    secretErrors.create('SEC_STORE_FAILED', `${lock}: ${why}`, { at: { file: lock }, hint, cause })
  const busy = (): Error => failure('another process holds the lock', 'try again, or remove the file if no svc runs')
  try {
    return await withFileLock(lock, run, { waitMs: WAIT_MS, busy })
  } catch (error) {
    if (isSvcError(error)) throw error
    throw failure(errorMessage(error), 'correct the permissions of the folder', error)
  }
}
