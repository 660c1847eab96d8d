import { type ProcessIdentity, withFileLock } from '@svc/contracts'
import { updateErrors } from './errors.ts'

/** Runs work while this process holds a lock file. Does not wait for another process. Throws `UPD_BUSY`. */
export function withLock<A>(file: string, run: () => Promise<A>): Promise<A> {
  const busy = (holder: ProcessIdentity | null): Error => {
    const who = holder === null ? 'another process' : `process ${holder.pid} on ${holder.host}`
    return updateErrors.create('UPD_BUSY', `${who} is installing a version`, {
      at: { file },
      hint: `wait until it ends; if it no longer runs, remove ${file}`
    })
  }
  // An installation on another machine that shares the folder may take long.
  return withFileLock(file, run, { waitMs: 0, busy, unknownHeldMs: Number.POSITIVE_INFINITY })
}
