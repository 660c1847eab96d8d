import type { ItemToken } from '../store.ts'
import { keyHash } from './key-hash.ts'
import { EPOCH_BASE, NOW_MS, rowAt, type SqlOperation } from './operation.ts'

/** State of an item in its table. */
export interface KeyedItem extends ItemToken {
  readonly holder: string | null
  /** Leased, and the lease has not expired. */
  readonly isLeased: boolean
}

const BY_KEY = '(select id from coord_keys where key_hash = ?1)'

/** Query of the item with a key; null if there is none. */
export function findKeyedItem(queue: string, key: string): SqlOperation<KeyedItem | null> {
  return {
    statements: [
      {
        sql: `select id, fence, holder, state = 1 and visible_at > ${NOW_MS} from coord_items where id = ${BY_KEY}`,
        parameters: [keyHash(queue, key)]
      }
    ],
    read([result]) {
      const row = rowAt<[number, number, string | null, number]>(result)
      return row === undefined ? null : { id: row[0], fence: row[1], holder: row[2], isLeased: row[3] === 1 }
    }
  }
}

/** Leases an item whatever its state, with a new fence, which ends the token of another holder. For items without a lane. */
export function leaseItem(id: number, holder: string, leaseMs: number): SqlOperation<ItemToken | null> {
  return {
    statements: [
      {
        sql: `update coord_items set state = 1, granted = 1, wanted = 0, error = null, holder = ?2,
  attempts = attempts + 1, fence = max(fence + 1, ${EPOCH_BASE}), visible_at = ${NOW_MS} + ?3
where id = ?1 returning id, fence`,
        parameters: [id, holder, leaseMs]
      }
    ],
    read([result]) {
      const row = rowAt<[number, number]>(result)
      return row === undefined ? null : { id: row[0], fence: row[1] }
    }
  }
}

/** Removes the item with a key whatever its state, and the key, which may then be used again. */
export function removeKeyedItem(queue: string, key: string): SqlOperation<boolean> {
  const parameters = [keyHash(queue, key)]
  return {
    statements: [
      { sql: `delete from coord_items where id = ${BY_KEY}`, parameters },
      { sql: 'delete from coord_keys where key_hash = ?1', parameters }
    ],
    read: ([result]) => (result?.changes ?? 0) > 0
  }
}

/** State of a queue, for a consumer that polls it. */
export interface QueueOutlook {
  /** Something can be claimed now. */
  readonly isReady: boolean
  /** When the next delayed item becomes ready or lease expires, in Unix milliseconds; null if there is none. */
  readonly nextAt: number | null
  /** Leased items, at most {@link MAX_OUTLOOK}. */
  readonly leased: readonly (ItemToken & { readonly holder: string })[]
}

const MAX_OUTLOOK = 500

/** Query of a queue without items, by its indexes: its cost does not depend on the number of items. */
export function outlookOf(queue: string): SqlOperation<QueueOutlook> {
  return {
    statements: [
      {
        sql: `select exists (select 1 from coord_items where queue = ?1 and state = 0),
  (select min(visible_at) from coord_items where queue = ?1 and state in (1, 2)), ${NOW_MS}`,
        parameters: [queue]
      },
      {
        sql: `select id, fence, holder from coord_items where queue = ?1 and state in (1, 2) and state = 1
order by visible_at limit ${MAX_OUTLOOK}`,
        parameters: [queue]
      }
    ],
    read([next, leased]) {
      const [ready = 0, nextAt = null, now = 0] = rowAt<[number, number | null, number]>(next) ?? []
      return {
        isReady: ready === 1 || (nextAt !== null && nextAt <= now),
        nextAt,
        leased: (leased?.rows ?? []).map(([id, fence, holder]) => ({
          id: id as number,
          fence: fence as number,
          holder: holder as string
        }))
      }
    }
  }
}
