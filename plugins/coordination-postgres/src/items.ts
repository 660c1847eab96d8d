import {
  type AckToken,
  CallBatches,
  type ClaimedItem,
  type ClaimOptions,
  coordinationChecks as check,
  coordinationErrors,
  DEFAULT_PRIORITY,
  type DeadItem,
  type ItemPage,
  type ItemToken,
  MAX_COORDINATION_BATCH,
  MAX_COORDINATION_PAGE_BYTES,
  type NewItem,
  type NodeVersion,
  type PutResult,
  type StoredItem
} from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import type { Connections } from './connections.ts'
import { hadNoEffect } from './database-errors.ts'
import type { Hints } from './hints.ts'
import { keyHash } from './key-hash.ts'
import { statements } from './statements.ts'

const STATES = ['ready', 'leased', 'delayed', 'parked'] as const
/** Characters of a body that weigh as much as one item, so that the bodies of a batch have about 64 MiB at most. */
const BODY_WEIGHT = MAX_COORDINATION_PAGE_BYTES / MAX_COORDINATION_BATCH

type Row = Readonly<Record<string, unknown>>

interface ClaimRequest extends ClaimOptions {
  readonly queue: string
  readonly holder: string
  /** Version that the holder must have as a node of a mesh. */
  readonly node?: NodeVersion
}

/** A token with what happens to its item: null parks it. */
interface GivenBack extends ItemToken {
  readonly delayMs: number | null
  readonly error?: string | undefined
}

/** Items of queues. Calls of one kind in one turn of the event loop become one call of the database. */
export class Items {
  readonly #connections: Connections
  readonly #hints: Hints
  readonly #puts: CallBatches<NewItem, PutResult>
  readonly #claims: CallBatches<ClaimRequest, readonly ClaimedItem[] | null>
  readonly #acks: CallBatches<AckToken, boolean>
  readonly #extensions: CallBatches<ItemToken & { readonly leaseMs: number }, boolean>
  readonly #returns: CallBatches<GivenBack, boolean>

  constructor(connections: Connections, hints: Hints) {
    this.#connections = connections
    this.#hints = hints
    const batch = { maxWeight: MAX_COORDINATION_BATCH, hadNoEffect }
    this.#puts = new CallBatches({ ...batch, run: items => this.#put(items), weigh: ({ body }) => weightOf(body) })
    this.#claims = new CallBatches({ ...batch, run: requests => this.#claim(requests), weigh: ({ max }) => max })
    this.#acks = new CallBatches({
      ...batch,
      run: tokens => this.#ack(tokens),
      weigh: ({ result }) => weightOf(result)
    })
    this.#extensions = new CallBatches({ ...batch, run: tokens => this.#extend(tokens) })
    this.#returns = new CallBatches({ ...batch, run: tokens => this.#giveBack(tokens) })
  }

  async put(items: readonly NewItem[]): Promise<readonly PutResult[]> {
    check.items(items)
    const results = await this.#puts.call(items)
    this.#hints.publish(
      items.flatMap(({ queue, delayMs = 0 }, index) => (results[index]?.fresh === true && delayMs === 0 ? [queue] : []))
    )
    return results
  }

  async claim(queue: string, holder: string, options: ClaimOptions): Promise<readonly ClaimedItem[]> {
    check.claim(queue, holder, options)
    const [claimed] = await this.#claims.call([{ queue, holder, ...options }])
    return claimed as readonly ClaimedItem[]
  }

  async claimAs(node: NodeVersion, queue: string, options: ClaimOptions): Promise<readonly ClaimedItem[] | null> {
    check.node('claimAs: node', node)
    check.claim(queue, node.id, options)
    const [claimed = null] = await this.#claims.call([{ queue, holder: node.id, node, ...options }])
    return claimed
  }

  async ack(tokens: readonly AckToken[]): Promise<readonly boolean[]> {
    check.ackTokens(tokens)
    return this.#acks.call(tokens)
  }

  async extend(tokens: readonly ItemToken[], leaseMs: number): Promise<readonly boolean[]> {
    check.tokens('extend: tokens', tokens)
    check.leaseMs('extend: leaseMs', leaseMs)
    return this.#extensions.call(tokens.map(({ id, fence }) => ({ id, fence, leaseMs })))
  }

  async nack(
    tokens: readonly ItemToken[],
    options: { readonly delayMs: number; readonly error?: string }
  ): Promise<readonly boolean[]> {
    check.nack(tokens, options)
    const { delayMs, error } = options
    return this.#returns.call(tokens.map(({ id, fence }) => ({ id, fence, delayMs, error })))
  }

  async park(tokens: readonly ItemToken[]): Promise<readonly boolean[]> {
    check.tokens('park: tokens', tokens)
    return this.#returns.call(tokens.map(({ id, fence }) => ({ id, fence, delayMs: null })))
  }

  async wake(queue: string, keys: readonly string[]): Promise<number> {
    check.name('wake: queue', queue)
    check.keys('wake: keys', keys)
    if (keys.length === 0) return 0
    const [row] = await this.#connections.call(statements.wake, [queue, keys.map(key => keyHash(queue, key))])
    const { found, ready } = row as { found: number; ready: number }
    if (ready > 0) this.#hints.publish([queue])
    return found
  }

  async withdraw(queue: string, id: number): Promise<'taken' | 'leased' | 'gone'> {
    check.name('withdraw: queue', queue)
    check.id('withdraw: id', id)
    const [row] = await this.#connections.call(statements.withdraw, [queue, id])
    if (row === undefined) return 'gone'
    if (row.lane !== null) this.#hints.publish([queue])
    return row.outcome as 'taken' | 'leased'
  }

  async read(queue: string, ids: readonly number[]): Promise<readonly StoredItem[]> {
    check.name('read: queue', queue)
    check.ids('read: ids', ids)
    if (ids.length === 0) return []
    const rows = await this.#connections.call(statements.read, [queue, ids])
    const [first] = rows
    if (first !== undefined && first.id === null)
      throw coordinationErrors.create(
        'CRD_TOO_LARGE',
        `read: these items of ${queue} have ${first.bytes} bytes; the limit is ${MAX_COORDINATION_PAGE_BYTES}`,
        { hint: 'read fewer items in one call' }
      )
    return rows.map(toItem)
  }

  async look(queue: string, page: ItemPage): Promise<readonly StoredItem[]> {
    check.name('look: queue', queue)
    check.page('look', page)
    const rows = await this.#connections.call(statements.look, [queue, page.before ?? null, page.limit])
    return rows.map(toItem)
  }

  async ready(queues: readonly string[]): Promise<readonly string[]> {
    check.batch('ready: queues', queues)
    for (const [index, queue] of queues.entries()) check.name(`ready: queues[${index}]`, queue)
    if (queues.length === 0) return []
    const rows = await this.#connections.call(statements.ready, [queues])
    return rows.map(({ queue }) => queue as string)
  }

  async count(prefix: string): Promise<number> {
    check.prefix('count: prefix', prefix)
    const [row] = await this.#connections.call(statements.count, [prefix, endOf(prefix)])
    return row?.count as number
  }

  /** Removes in steps, each in its own transaction, so that no other call waits for a long one. */
  async trim(prefix: string, keep: number): Promise<number> {
    check.prefix('trim: prefix', prefix)
    check.integer('trim: keep', keep, 0, Number.MAX_SAFE_INTEGER)
    for (let total = 0; ; ) {
      const [row] = await this.#connections.call(statements.trim, [prefix, endOf(prefix), keep])
      const { deleted, remaining } = row as { deleted: number; remaining: number }
      total += deleted
      if (remaining === 0 || deleted === 0) return total
    }
  }

  async dead(queue: string, page: ItemPage): Promise<readonly DeadItem[]> {
    check.name('dead: queue', queue)
    check.page('dead', page)
    const rows = await this.#connections.call(statements.dead, [queue, page.before ?? null, page.limit])
    return rows.map(row => ({
      ...toItem(row),
      error: row.error as string | null,
      diedAt: row.died_at as number
    }))
  }

  async revive(queue: string, ids: readonly number[]): Promise<number> {
    check.name('revive: queue', queue)
    check.ids('revive: ids', ids)
    if (ids.length === 0) return 0
    const [row] = await this.#connections.call(statements.revive, [queue, ids])
    const count = row?.count as number
    if (count > 0) this.#hints.publish([queue])
    return count
  }

  async #put(items: readonly NewItem[]): Promise<readonly PutResult[]> {
    const [first] = items
    const isOne = items.length === 1 && first?.key === undefined
    const rows = await (isOne ? this.#putOne(first as NewItem) : this.#putAll(items))
    return rows.map(({ id, fresh, result }) =>
      defined({ id: id as number, fresh: fresh as boolean, result: (result as string | null) ?? undefined })
    )
  }

  #putOne(item: NewItem): Promise<readonly Row[]> {
    const { queue, body, priority = DEFAULT_PRIORITY, delayMs = 0, maxAttempts, lane, privacy = 0 } = item
    const values = [queue, body, priority, delayMs, maxAttempts ?? null, lane ?? null, privacy]
    return this.#connections.call(statements.putOne, values)
  }

  #putAll(items: readonly NewItem[]): Promise<readonly Row[]> {
    return this.#connections.call(statements.put, [
      items.map(({ queue }) => queue),
      items.map(({ queue, key }) => (key === undefined ? null : keyHash(queue, key))),
      items.map(({ body }) => body),
      items.map(({ priority = DEFAULT_PRIORITY }) => priority),
      items.map(({ delayMs = 0 }) => delayMs),
      items.map(({ maxAttempts = null }) => maxAttempts),
      items.map(({ lane = null }) => lane),
      items.map(({ privacy = 0 }) => privacy)
    ])
  }

  async #claim(requests: readonly ClaimRequest[]): Promise<readonly (readonly ClaimedItem[] | null)[]> {
    const claimed: (ClaimedItem[] | null)[] = requests.map(() => [])
    for (const row of await this.#claimRows(requests)) {
      const request = row.request as number
      if (row.id === null) claimed[request] = null
      else claimed[request]?.push(toItem({ ...row, state: 1 }) as ClaimedItem)
    }
    for (const items of claimed) items?.sort((a, b) => b.priority - a.priority || a.id - b.id)
    return claimed
  }

  #claimRows(requests: readonly ClaimRequest[]): Promise<readonly Row[]> {
    const [first] = requests
    if (requests.length > 1 || first?.node !== undefined)
      return this.#connections.call(statements.claims, [JSON.stringify(toClaimGroups(requests))])
    const { queue, holder, max, leaseMs, privacy = null, own = false } = first as ClaimRequest
    return this.#connections.call(statements.claimOne, [queue, [holder], [max], leaseMs, privacy, own])
  }

  async #ack(tokens: readonly AckToken[]): Promise<readonly boolean[]> {
    const [first] = tokens
    return this.#done(await (tokens.length === 1 ? this.#ackOne(first as AckToken) : this.#ackAll(tokens)))
  }

  #ackOne({ id, fence, result, freeKey = false, queue }: AckToken): Promise<readonly Row[]> {
    return this.#connections.call(statements.ackOne, [id, fence, result ?? null, freeKey, queue ?? null])
  }

  #ackAll(tokens: readonly AckToken[]): Promise<readonly Row[]> {
    return this.#connections.call(statements.ack, [
      tokens.map(({ id }) => id),
      tokens.map(({ fence }) => fence),
      tokens.map(({ result = null }) => result),
      tokens.map(({ freeKey = false }) => freeKey),
      tokens.map(({ queue = null }) => queue)
    ])
  }

  async #extend(tokens: readonly (ItemToken & { readonly leaseMs: number })[]): Promise<readonly boolean[]> {
    const rows = await this.#connections.call(statements.extend, [
      tokens.map(({ id }) => id),
      tokens.map(({ fence }) => fence),
      tokens.map(({ leaseMs }) => leaseMs)
    ])
    return rows.map(({ done }) => done as boolean)
  }

  async #giveBack(tokens: readonly GivenBack[]): Promise<readonly boolean[]> {
    const rows = await this.#connections.call(statements.giveBack, [
      tokens.map(({ id }) => id),
      tokens.map(({ fence }) => fence),
      tokens.map(({ delayMs }) => delayMs),
      tokens.map(({ error = null }) => error)
    ])
    return this.#done(rows)
  }

  #done(rows: readonly Row[]): readonly boolean[] {
    this.#hints.publish(rows.flatMap(({ ready }) => (ready === null ? [] : [ready as string])))
    return rows.map(({ done }) => done as boolean)
  }
}

/** Returns the parameter of `claims_v3`: claims of one queue that differ only in their holders are one group. */
function toClaimGroups(requests: readonly ClaimRequest[]): readonly object[] {
  const groups = new Map<string, { readonly claims: object[] }>()
  for (const [request, { queue, holder, max, leaseMs, privacy, own = false, node }] of requests.entries()) {
    const group = defined({ queue, lease_ms: leaseMs, privacy, own, claims: [] as object[] })
    const name = own ? `${request}` : JSON.stringify(group)
    const known = groups.get(name) ?? group
    groups.set(name, known)
    known.claims.push(defined({ request, holder, max, ...node, id: undefined }))
  }
  return [...groups.values()]
}

function weightOf(text = ''): number {
  return 1 + text.length / BODY_WEIGHT
}

/** Returns a text above all names with this prefix: U+10FFFF is no character. */
function endOf(prefix: string): string {
  return `${prefix}\u{10ffff}`
}

function toItem(row: Row): StoredItem {
  return {
    id: row.id as number,
    queue: row.queue as string,
    body: row.body as string,
    priority: row.priority as number,
    lane: row.lane as string | null,
    privacy: row.privacy as number,
    state: STATES[(row.state as number | undefined) ?? 0] ?? 'ready',
    attempts: row.attempts as number,
    maxAttempts: row.max_attempts as number | null,
    fence: row.fence as number,
    holder: row.holder as string | null,
    visibleAt: row.visible_at as number,
    createdAt: row.created_at as number
  }
}
