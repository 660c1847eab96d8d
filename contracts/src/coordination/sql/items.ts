import type { SqlParameter, SqlResult, SqlValue } from '../../database/values.ts'
import { DEFAULT_PRIORITY } from '../checks.ts'
import {
  type AckToken,
  type ClaimedItem,
  type ClaimOptions,
  type DeadItem,
  type ItemPage,
  type ItemToken,
  MAX_COORDINATION_PAGE_BYTES,
  type NewItem,
  type NodeVersion,
  type PutResult,
  RESULT_RETENTION_MS,
  type StoredItem
} from '../store.ts'
import { keyHash } from './key-hash.ts'
import { EPOCH_BASE, NOW_MS, rowAt, type SqlOperation } from './operation.ts'

const STATES = ['ready', 'leased', 'delayed', 'parked'] as const
/** Maximum items that one claim makes ready, and that it moves to the dead items. */
const MAX_SWEPT = 500
/** Maximum items that one step of `trim` removes. */
export const MAX_TRIMMED = 1_000

const COLUMNS = `id, queue, body, priority, lane, privacy, state, attempts, max_attempts, fence, holder, visible_at,
  created_at`
const DEAD_COLUMNS = `id, queue, body, priority, lane, privacy, 0, attempts, max_attempts, fence, holder, visible_at,
  created_at, error, died_at`

/** Position of an item in its queue, by which hints find their subscribers. */
export interface ReadyItem {
  readonly id: number
  readonly queue: string
}

export function putItems(items: readonly NewItem[]): SqlOperation<readonly PutResult[]> {
  const statements: { sql: string; parameters: SqlParameter[] }[] = []
  for (const item of items) {
    const hash = item.key === undefined ? null : keyHash(item.queue, item.key)
    const { queue, body, priority = DEFAULT_PRIORITY, delayMs = 0, maxAttempts = null, lane = null, privacy = 0 } = item
    const bytes = Buffer.byteLength(body)
    const values = [queue, priority, delayMs, maxAttempts, privacy, lane, hash, bytes, body]
    statements.push({ sql: hash === null ? INSERT_ITEM : INSERT_KEYED_ITEM, parameters: values })
    if (hash !== null) statements.push({ sql: INSERT_KEY, parameters: [hash] })
  }
  return {
    statements,
    read(results) {
      let at = 0
      return items.map(({ key }) => {
        const inserted = rowAt<[number]>(results[at++])
        if (key === undefined) return { id: inserted?.[0] as number, fresh: true }
        const [id, result] = rowAt<[number, string | null]>(results[at++]) as [number, string | null]
        if (inserted !== undefined) return { id: inserted[0], fresh: true }
        return result === null ? { id, fresh: false } : { id, fresh: false, result }
      })
    }
  }
}

const ITEM_VALUES = `insert into coord_items
  (queue, priority, state, visible_at, max_attempts, privacy, lane, key_hash, bytes, created_at, body)
select ?1, ?2, case when ?3 > 0 then 2 else 0 end, ${NOW_MS} + ?3, ?4, ?5, ?6, ?7, ?8, ${NOW_MS}, ?9`
const INSERT_ITEM = `${ITEM_VALUES} returning id`
const INSERT_KEYED_ITEM = `${ITEM_VALUES} where not exists (select 1 from coord_keys where key_hash = ?7) returning id`
/** Runs directly after INSERT_KEYED_ITEM. If the key exists, it returns the first item's id instead of the given one. */
const INSERT_KEY = `insert into coord_keys (key_hash, id) values (?1, last_insert_rowid())
on conflict (key_hash) do update set id = coord_keys.id
returning id, case when done_at > ${NOW_MS} - ${RESULT_RETENTION_MS} then result end`

/** Leases items; see `Coordination.claim`. */
export function claimItems(queue: string, holder: string, options: ClaimOptions): SqlOperation<readonly ClaimedItem[]> {
  return claimWith(options.own === true ? CLAIM_OWN : CLAIM, claimParameters(queue, holder, options), queue)
}

/** Leases items to a node; see `Coordination.claimAs`. */
export function claimItemsAs(
  { scope, id, version }: NodeVersion,
  queue: string,
  options: ClaimOptions
): SqlOperation<readonly ClaimedItem[] | null> {
  const parameters = [...claimParameters(queue, id, options), scope, version]
  const { statements, read } = claimWith(options.own === true ? CLAIM_OWN_AS : CLAIM_AS, parameters, queue)
  return {
    statements: [...statements, { sql: IS_VERSION, parameters: [scope, id, version] }],
    read: results => (results.at(-1)?.rows.length === 1 ? read(results) : null)
  }
}

function claimParameters(queue: string, holder: string, { max, leaseMs, privacy }: ClaimOptions) {
  return [queue, holder, max, leaseMs, privacy === undefined ? null : JSON.stringify(privacy)]
}

/** Leases items with the statement `sql`, after items of the queue that are due or exhausted were moved. */
function claimWith(
  sql: string,
  parameters: readonly (string | number | null)[],
  queue: string
): SqlOperation<readonly ClaimedItem[]> {
  return {
    statements: [
      { sql: SWEEP, parameters: [queue] },
      { sql: BURY, parameters: [queue] },
      { sql: REMOVE_BURIED, parameters: [queue] },
      { sql, parameters },
      { sql: REVOKE_LANES, parameters: [queue] }
    ],
    read: results => (results[3]?.rows ?? []).map(row => toItem(row) as ClaimedItem).sort(inOrder)
  }
}

const IS_VERSION = `select 1 from coord_nodes
where scope = ?1 and node_id = ?2 and version = ?3 and record is not null`

/** Makes items ready that are due: delayed ones, and those with an expired lease, which keep their fence. */
const SWEEP = `update coord_items set state = 0 where id in (
  select id from coord_items where queue = ?1 and state in (1, 2) and visible_at <= ${NOW_MS}
  order by visible_at limit ${MAX_SWEPT})`
const EXHAUSTED = `from coord_items where queue = ?1 and state = 0 and attempts >= max_attempts
  order by id limit ${MAX_SWEPT}`
const BURY = `insert into coord_dead
  (id, queue, priority, fence, attempts, max_attempts, holder, privacy, lane, key_hash, error, bytes, created_at,
  died_at, visible_at, body)
select id, queue, priority, fence, attempts, max_attempts, holder, privacy, lane, key_hash, error, bytes, created_at,
  ${NOW_MS}, visible_at, body ${EXHAUSTED}`
/** Removes the items that BURY copied: both statements select the same ones. */
const REMOVE_BURIED = `delete from coord_items where id in (select id ${EXHAUSTED})`

const ALLOWED = `(max_attempts is null or attempts < max_attempts)
      and (?5 is null or privacy in (select value from json_each(?5)))`
/** The item with the lowest id at the highest priority of its lane, if no item of the lane is leased. */
const FIRST_OF_LANE = `(i.lane is null or (
        not exists (select 1 from coord_items l
          where l.queue = ?1 and l.lane = i.lane and l.state = 1 and l.lane is not null)
        and i.id = (select id from coord_items r
          where r.queue = ?1 and r.lane = i.lane and r.state = 0 and r.lane is not null
            and (r.max_attempts is null or r.attempts < r.max_attempts)
            and (?5 is null or r.privacy in (select value from json_each(?5)))
          order by r.priority desc, r.id limit 1)))`
const READY = `select id, priority, bytes from coord_items i
    where queue = ?1 and state = 0 and ${ALLOWED} and ${FIRST_OF_LANE}
    order by priority desc, id limit ?3`
const OWN_LEASED = `select id, priority, bytes from coord_items
    where queue = ?1 and state in (1, 2) and state = 1 and holder = ?2 and ${ALLOWED}
    order by priority desc, id limit ?3`
const claim = (candidates: string, condition = ''): string => `update coord_items set
  state = 1, granted = 1, wanted = 0, error = null, holder = ?2, attempts = attempts + 1,
  fence = max(fence + 1, ${EPOCH_BASE}), visible_at = ${NOW_MS} + ?4
where ${condition}id in (select id from (
  select id, bytes, sum(bytes) over (order by priority desc, id) as total from (${candidates}))
  where total - bytes < ${MAX_COORDINATION_PAGE_BYTES})
returning ${COLUMNS}`
const READY_OR_OWN = `select * from (${READY}) union all select * from (${OWN_LEASED}) order by priority desc, id limit ?3`
const CLAIM = claim(READY)
const CLAIM_OWN = claim(READY_OR_OWN)
const NODE_IS = `exists (select 1 from coord_nodes
    where scope = ?6 and node_id = ?2 and version = ?7 and record is not null)
  and `
const CLAIM_AS = claim(READY, NODE_IS)
const CLAIM_OWN_AS = claim(READY_OR_OWN, NODE_IS)
/** Ends the tokens of expired items in a lane of which another item is leased now. */
const REVOKE_LANES = `update coord_items set granted = 0
where queue = ?1 and state = 0 and granted = 1 and lane is not null
  and exists (select 1 from coord_items l
    where l.queue = ?1 and l.lane = coord_items.lane and l.state = 1 and l.lane is not null)`

/** Tokens as rows: id and fence, then further values. */
const TOKENS = `(select value ->> 0 as id, value ->> 1 as fence, value ->> 2 as extra, value ->> 3 as more,
  value ->> 4 as queue from json_each(?1))`
const HELD = `from ${TOKENS} t cross join coord_items i on i.id = t.id
where i.fence = t.fence and i.granted = 1 and (t.queue is null or i.queue = t.queue)`

/** Removes items. The second value is the queues of lanes that became free. */
export function ackItems(tokens: readonly AckToken[]): SqlOperation<AppliedTokens> {
  const rows = JSON.stringify(
    tokens.map(({ id, fence, result, freeKey = false, queue }) => [
      id,
      fence,
      result ?? null,
      freeKey ? 1 : 0,
      queue ?? null
    ])
  )
  const parameters = [rows]
  const statements = [{ sql: ACK, parameters }]
  if (tokens.some(({ freeKey }) => freeKey === true)) statements.unshift({ sql: FREE_KEYS, parameters })
  if (tokens.some(({ result }) => result !== undefined)) statements.unshift({ sql: STORE_RESULTS, parameters })
  return { statements, read: results => appliedOnce(tokens, results.at(-1), row => row[3] !== null) }
}

/** The keys exist. An update from a subquery would scan all of them. */
const STORE_RESULTS = `insert into coord_keys (key_hash, id, done_at, result)
select i.key_hash, i.id, ${NOW_MS}, t.extra ${HELD} and t.extra is not null and i.key_hash is not null
on conflict (key_hash) do update set done_at = excluded.done_at, result = excluded.result`
const FREE_KEYS = `delete from coord_keys where key_hash in (select i.key_hash ${HELD} and t.more = 1)`
const ACK = `delete from coord_items where id in (select i.id ${HELD}) returning id, fence, queue, lane`

export function extendItems(
  tokens: readonly (ItemToken & { readonly leaseMs: number })[]
): SqlOperation<readonly boolean[]> {
  const rows = JSON.stringify(tokens.map(({ id, fence, leaseMs }) => [id, fence, leaseMs]))
  return {
    statements: [{ sql: EXTEND, parameters: [rows] }],
    read([result]) {
      const extended = new Set(result?.rows.map(([id, fence]) => `${id} ${fence}`))
      return tokens.map(({ id, fence }) => extended.has(`${id} ${fence}`))
    }
  }
}

const EXTEND = `update coord_items set visible_at = ${NOW_MS} + t.extra from ${TOKENS} t
where coord_items.id = t.id and coord_items.fence = t.fence and granted = 1 and state = 1 and visible_at > ${NOW_MS}
returning id, fence`

/** Outcome of tokens, in their order, and the items that became ready. */
export interface AppliedTokens {
  readonly applied: readonly boolean[]
  readonly ready: readonly ReadyItem[]
}

export function nackItems(
  tokens: readonly (ItemToken & { readonly delayMs: number; readonly error?: string | undefined })[]
): SqlOperation<AppliedTokens> {
  const rows = JSON.stringify(tokens.map(({ id, fence, delayMs, error }) => [id, fence, delayMs, error ?? null]))
  return {
    statements: [{ sql: NACK, parameters: [rows] }],
    read: ([result]) => appliedOnce(tokens, result, row => row[3] === 0)
  }
}

const NACK = `update coord_items set state = case when wanted = 1 or t.extra = 0 then 0 else 2 end, granted = 0,
  wanted = 0, visible_at = ${NOW_MS} + t.extra, error = t.more from ${TOKENS} t
where coord_items.id = t.id and coord_items.fence = t.fence and granted = 1 returning id, fence, queue, state`

export function parkItems(tokens: readonly ItemToken[]): SqlOperation<AppliedTokens> {
  const rows = JSON.stringify(tokens.map(({ id, fence }) => [id, fence]))
  return {
    statements: [{ sql: PARK, parameters: [rows] }],
    read: ([result]) => appliedOnce(tokens, result, row => row[3] === 0)
  }
}

const PARK = `update coord_items set state = case when wanted = 1 then 0 else 3 end, granted = 0, wanted = 0,
  visible_at = ${NOW_MS} from ${TOKENS} t
where coord_items.id = t.id and coord_items.fence = t.fence and granted = 1 returning id, fence, queue, state`

/** Wakes items. Returns the number of items, and those that became ready. */
export function wakeItems(
  queue: string,
  keys: readonly string[]
): SqlOperation<{ readonly count: number; readonly ready: readonly ReadyItem[] }> {
  const hashes = JSON.stringify(keys.map(key => keyHash(queue, key)))
  return {
    statements: [{ sql: WAKE, parameters: [queue, hashes] }],
    read([result]) {
      const rows = result?.rows ?? []
      return {
        count: rows.length,
        ready: rows.filter(([, state]) => state === 0).map(([id]) => ({ id: id as number, queue }))
      }
    }
  }
}

/** An item whose lease has expired may be ready, and its holder may still park it. So the wake is kept for it, too. */
const WAKE = `update coord_items set state = case when state = 1 then 1 else 0 end,
  wanted = granted
where id in (select id from coord_keys where key_hash in (select value from json_each(?2))) and queue = ?1
returning id, state`

/** Removes an item. `lane` is its lane, if that became free. */
export function withdrawItem(
  queue: string,
  id: number
): SqlOperation<{ readonly outcome: 'taken' | 'leased' | 'gone'; readonly ready: readonly ReadyItem[] }> {
  return {
    statements: [
      { sql: 'delete from coord_items where id = ?1 and queue = ?2 returning granted, lane', parameters: [id, queue] }
    ],
    read([result]) {
      const row = rowAt<[number, string | null]>(result)
      if (row === undefined) return { outcome: 'gone', ready: [] }
      return { outcome: row[0] === 1 ? 'leased' : 'taken', ready: row[1] === null ? [] : [{ id, queue }] }
    }
  }
}

/** Removes at most {@link MAX_TRIMMED} items, the oldest first. Returns their number. */
export function trimItems(prefix: string, keep: number): SqlOperation<number> {
  return {
    statements: [{ sql: TRIM, parameters: [prefix, endOf(prefix), keep] }],
    read: ([result]) => result?.changes ?? 0
  }
}

const TRIM = `delete from coord_items where id in (
  select id from coord_items where queue >= ?1 and queue < ?2 order by id limit max(0, min(${MAX_TRIMMED},
    (select count(*) from coord_items where queue >= ?1 and queue < ?2) - ?3)))`

export function reviveItems(
  queue: string,
  ids: readonly number[]
): SqlOperation<{ readonly count: number; readonly ready: readonly ReadyItem[] }> {
  const parameters = [queue, JSON.stringify(ids)]
  return {
    statements: [
      { sql: REVIVE, parameters },
      { sql: REMOVE_REVIVED, parameters }
    ],
    read([, result]) {
      const ready = (result?.rows ?? []).map(([id]) => ({ id: id as number, queue }))
      return { count: ready.length, ready }
    }
  }
}

const DEAD_BY_ID = 'from coord_dead where queue = ?1 and id in (select value from json_each(?2))'
const REVIVE = `insert into coord_items
  (id, queue, priority, state, visible_at, fence, max_attempts, holder, privacy, lane, key_hash, bytes, created_at,
  body)
select id, queue, priority, 0, ${NOW_MS}, fence, max_attempts, holder, privacy, lane, key_hash, bytes, created_at,
  body ${DEAD_BY_ID}`
const REMOVE_REVIVED = `delete ${DEAD_BY_ID} returning id`

/** Queries; see the methods of `Coordination` with these names. */
export function lookItems(queue: string, { before, limit }: ItemPage): SqlOperation<readonly StoredItem[]> {
  return {
    statements: [{ sql: LOOK, parameters: [queue, before ?? Number.MAX_SAFE_INTEGER, limit] }],
    read: ([result]) => (result?.rows ?? []).map(toItem)
  }
}

const page = (columns: string, table: string): string => `select ${columns} from (
  select *, sum(bytes) over (order by id desc) as total from (
    select * from ${table} where queue = ?1 and id < ?2 order by id desc limit ?3))
where total - bytes < ${MAX_COORDINATION_PAGE_BYTES} order by id desc`
const LOOK = page(COLUMNS, 'coord_items')
const DEAD = page(DEAD_COLUMNS, 'coord_dead')

export function deadItems(queue: string, { before, limit }: ItemPage): SqlOperation<readonly DeadItem[]> {
  return {
    statements: [{ sql: DEAD, parameters: [queue, before ?? Number.MAX_SAFE_INTEGER, limit] }],
    read: ([result]) =>
      (result?.rows ?? []).map(row => ({
        ...toItem(row),
        error: row[13] as string | null,
        diedAt: row[14] as number
      }))
  }
}

/** Returns the total size of items in bytes of their bodies. */
export function sizeOfItems(queue: string, ids: readonly number[]): SqlOperation<number> {
  return {
    statements: [{ sql: `select coalesce(sum(bytes), 0) ${ITEMS_BY_ID}`, parameters: [queue, JSON.stringify(ids)] }],
    read: ([result]) => rowAt<[number]>(result)?.[0] ?? 0
  }
}

export function readItems(queue: string, ids: readonly number[]): SqlOperation<readonly StoredItem[]> {
  return {
    statements: [{ sql: `select ${COLUMNS} ${ITEMS_BY_ID} order by id`, parameters: [queue, JSON.stringify(ids)] }],
    read: ([result]) => (result?.rows ?? []).map(toItem)
  }
}

const ITEMS_BY_ID = 'from coord_items where id in (select value from json_each(?2)) and queue = ?1'

/** Query of the queues with items that can be claimed, apart from `privacy`. */
export function readyQueues(queues: readonly string[]): SqlOperation<readonly string[]> {
  return {
    statements: [{ sql: READY_QUEUES, parameters: [JSON.stringify([...new Set(queues)])] }],
    read: ([result]) => (result?.rows ?? []).map(([queue]) => queue as string)
  }
}

const READY_QUEUES = `select q.value from json_each(?1) q where exists (
  select 1 from coord_items i where i.queue = q.value and i.state = 0
    and (i.max_attempts is null or i.attempts < i.max_attempts)
    and (i.lane is null or not exists (select 1 from coord_items l
      where l.queue = i.queue and l.lane = i.lane and l.state = 1 and l.lane is not null)))
or exists (
  select 1 from coord_items d where d.queue = q.value and d.state in (1, 2) and d.visible_at <= ${NOW_MS}
    and (d.max_attempts is null or d.attempts < d.max_attempts))`

export function countItems(prefix: string): SqlOperation<number> {
  return {
    statements: [
      {
        sql: 'select count(*) from coord_items where queue >= ?1 and queue < ?2',
        parameters: [prefix, endOf(prefix)]
      }
    ],
    read: ([result]) => rowAt<[number]>(result)?.[0] ?? 0
  }
}

/** Returns a text above all names with this prefix: U+10FFFF is no character. */
function endOf(prefix: string): string {
  return `${prefix}\u{10ffff}`
}

/** `ready`: whether a returned row made an item ready. A repeated token applies once. */
function appliedOnce(
  tokens: readonly (ItemToken & { readonly queue?: string })[],
  result: SqlResult | undefined,
  ready: (row: readonly SqlValue[]) => boolean
): AppliedTokens {
  const rows = result?.rows ?? []
  const left = new Map(rows.map(([id, fence, queue]) => [`${id} ${fence}`, queue]))
  return {
    applied: tokens.map(({ id, fence, queue }) => {
      const token = `${id} ${fence}`
      return (queue === undefined || left.get(token) === queue) && left.delete(token)
    }),
    ready: rows.filter(ready).map(([id, , queue]) => ({ id: id as number, queue: queue as string }))
  }
}

function toItem(row: readonly SqlValue[]): StoredItem {
  return {
    id: row[0] as number,
    queue: row[1] as string,
    body: row[2] as string,
    priority: row[3] as number,
    lane: row[4] as string | null,
    privacy: row[5] as number,
    state: STATES[row[6] as number] ?? 'ready',
    attempts: row[7] as number,
    maxAttempts: row[8] as number | null,
    fence: row[9] as number,
    holder: row[10] as string | null,
    visibleAt: row[11] as number,
    createdAt: row[12] as number
  }
}

function inOrder(a: StoredItem, b: StoredItem): number {
  return b.priority - a.priority || a.id - b.id
}
