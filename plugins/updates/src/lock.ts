import { randomUUID } from 'node:crypto'
import { ownIdentity, type ProcessIdentity, presenceOf } from '@svc/contracts'
import { claim, release } from '@svc/contracts/claim-file'
import { updateErrors } from './errors.ts'

/**
 * Runs work while this process holds a lock file. A lock of a process that no longer runs is taken over. Throws
 * `UPD_BUSY`.
 */
export async function withLock<A>(file: string, run: () => Promise<A>): Promise<A> {
  const own = JSON.stringify({ ...ownIdentity(), claim: randomUUID() })
  const held = await claim(file, own, async text => {
    const holder = holderOf(text)
    return holder !== null && presenceOf(holder) !== 'dead'
  })
  if (held !== null) throw busy(file, holderOf(held))
  try {
    return await run()
  } finally {
    await release(file, own).catch(() => undefined)
  }
}

function holderOf(text: string): ProcessIdentity | null {
  try {
    const { host, pid, start } = JSON.parse(text) as Partial<ProcessIdentity>
    return typeof host === 'string' && typeof pid === 'number' ? { host, pid, start: start ?? null } : null
  } catch {
    return null
  }
}

function busy(file: string, holder: ProcessIdentity | null) {
  const who = holder === null ? 'another process' : `process ${holder.pid} on ${holder.host}`
  return updateErrors.create('UPD_BUSY', `${who} is installing a version`, {
    at: { file },
    hint: `wait until it ends; if it no longer runs, remove ${file}`
  })
}
