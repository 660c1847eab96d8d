import { randomUUID } from 'node:crypto'
import {
  type Coordination,
  MAX_COORDINATION_BATCH,
  ownIdentity,
  type ProcessIdentity,
  presenceOf
} from '@svc/contracts'

const PREFIX = 'a2a '

/** Returns a name for the leases of this plugin instance, from which other processes see whether it still runs. */
export function newHolder(): string {
  return PREFIX + JSON.stringify({ ...ownIdentity(), instance: randomUUID() })
}

/**
 * Returns the leased items of processes of this machine that have ended to their queue. Leases of other machines have to
 * expire.
 */
export async function releaseEnded(store: Coordination, queue: string): Promise<number> {
  let released = 0
  let before: number | undefined
  do {
    const items = await store.look(queue, {
      limit: MAX_COORDINATION_BATCH,
      ...(before === undefined ? null : { before })
    })
    const ended = items.filter(({ state, holder }) => state === 'leased' && hasEnded(holder))
    if (ended.length > 0) {
      const results = await store.nack(ended, { delayMs: 0, error: 'its process has ended' })
      released += results.filter(Boolean).length
    }
    before = items.length < MAX_COORDINATION_BATCH ? undefined : items.at(-1)?.id
  } while (before !== undefined)
  return released
}

function hasEnded(holder: string | null): boolean {
  if (holder === null || !holder.startsWith(PREFIX)) return false
  try {
    return presenceOf(JSON.parse(holder.slice(PREFIX.length)) as ProcessIdentity) === 'dead'
  } catch {
    return false
  }
}
