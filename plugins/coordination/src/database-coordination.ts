import {
  type AckToken,
  type ClaimedItem,
  type ClaimOptions,
  type Coordination,
  type CoordinationFanout,
  type CoordinationMeta,
  type CoordinationNodes,
  coordinationChecks as check,
  coordinationErrors,
  type DatabaseStore,
  type DeadItem,
  type ItemPage,
  type ItemToken,
  type LeaseConflict,
  type LeaseOutcome,
  type LeaseToken,
  MAX_COORDINATION_BATCH,
  MAX_COORDINATION_PAGE_BYTES,
  MAX_ITEM_BODY_BYTES,
  type NamedLease,
  type NewItem,
  type NodeVersion,
  type PutResult,
  type StoredItem,
  coordinationSql as sql
} from '@svc/contracts'
import { Hints } from './hints.ts'
import { OperationQueue } from './operation-queue.ts'

const DEFAULT_LEASES = 100

/** Coordination store in a SQL database of SQLite's dialect: a file, memory, or a remote database. */
export class DatabaseCoordination implements Coordination {
  readonly kind = 'libsql'
  readonly #database: DatabaseStore
  readonly #operations: OperationQueue
  readonly #hints: Hints

  /** The caller closes the database, after the store. `fanout` carries hints to other processes. */
  constructor(database: DatabaseStore, fanout: CoordinationFanout | null = null) {
    this.#database = database
    this.#hints = new Hints(fanout)
    this.#operations = new OperationQueue(database)
  }

  get location(): string {
    return this.#database.location
  }

  async put(items: readonly NewItem[]): Promise<readonly PutResult[]> {
    check.items(items)
    if (items.length === 0) return []
    const results = await this.#operations.write(sql.putItems(items))
    this.#hints.publish(
      items.flatMap(({ queue, delayMs = 0 }, index) => (results[index]?.fresh === true && delayMs === 0 ? [queue] : []))
    )
    return results
  }

  async claim(queue: string, holder: string, options: ClaimOptions): Promise<readonly ClaimedItem[]> {
    check.claim(queue, holder, options)
    return this.#operations.write(sql.claimItems(queue, holder, options))
  }

  async claimAs(node: NodeVersion, queue: string, options: ClaimOptions): Promise<readonly ClaimedItem[] | null> {
    check.node('claimAs: node', node)
    check.claim(queue, node.id, options)
    return this.#operations.write(sql.claimItemsAs(node, queue, options))
  }

  async ack(tokens: readonly AckToken[]): Promise<readonly boolean[]> {
    check.ackTokens(tokens)
    return tokens.length === 0 ? [] : this.#apply(sql.ackItems(tokens))
  }

  async extend(tokens: readonly ItemToken[], leaseMs: number): Promise<readonly boolean[]> {
    check.tokens('extend: tokens', tokens)
    check.leaseMs('extend: leaseMs', leaseMs)
    if (tokens.length === 0) return []
    return this.#operations.write(sql.extendItems(tokens.map(({ id, fence }) => ({ id, fence, leaseMs }))))
  }

  async nack(
    tokens: readonly ItemToken[],
    options: { readonly delayMs: number; readonly error?: string }
  ): Promise<readonly boolean[]> {
    check.nack(tokens, options)
    const { delayMs, error } = options
    if (tokens.length === 0) return []
    return this.#apply(sql.nackItems(tokens.map(({ id, fence }) => ({ id, fence, delayMs, error }))))
  }

  async park(tokens: readonly ItemToken[]): Promise<readonly boolean[]> {
    check.tokens('park: tokens', tokens)
    return tokens.length === 0 ? [] : this.#apply(sql.parkItems(tokens))
  }

  async wake(queue: string, keys: readonly string[]): Promise<number> {
    check.name('wake: queue', queue)
    check.keys('wake: keys', keys)
    if (keys.length === 0) return 0
    const { count, ready } = await this.#operations.write(sql.wakeItems(queue, keys))
    this.#notify(ready)
    return count
  }

  async withdraw(queue: string, id: number): Promise<'taken' | 'leased' | 'gone'> {
    check.name('withdraw: queue', queue)
    check.id('withdraw: id', id)
    const { outcome, ready } = await this.#operations.write(sql.withdrawItem(queue, id))
    this.#notify(ready)
    return outcome
  }

  async read(queue: string, ids: readonly number[]): Promise<readonly StoredItem[]> {
    check.name('read: queue', queue)
    check.ids('read: ids', ids)
    if (ids.length === 0) return []
    const bytes = await this.#operations.query(sql.sizeOfItems(queue, ids))
    if (bytes > MAX_COORDINATION_PAGE_BYTES)
      throw coordinationErrors.create(
        'CRD_TOO_LARGE',
        `read: these items of ${queue} have ${bytes} bytes; the limit is ${MAX_COORDINATION_PAGE_BYTES}`,
        { hint: 'read fewer items in one call' }
      )
    return this.#operations.query(sql.readItems(queue, ids))
  }

  async look(queue: string, page: ItemPage): Promise<readonly StoredItem[]> {
    check.name('look: queue', queue)
    check.page('look', page)
    return this.#operations.query(sql.lookItems(queue, page))
  }

  async ready(queues: readonly string[]): Promise<readonly string[]> {
    check.batch('ready: queues', queues)
    for (const [index, queue] of queues.entries()) check.name(`ready: queues[${index}]`, queue)
    return queues.length === 0 ? [] : this.#operations.query(sql.readyQueues(queues))
  }

  async count(prefix: string): Promise<number> {
    check.prefix('count: prefix', prefix)
    return this.#operations.query(sql.countItems(prefix))
  }

  /** Removes in steps, each in its own transaction, so that other calls do not wait for a long one. */
  async trim(prefix: string, keep: number): Promise<number> {
    check.prefix('trim: prefix', prefix)
    check.integer('trim: keep', keep, 0, Number.MAX_SAFE_INTEGER)
    for (let removed = 0; ; ) {
      const step = await this.#operations.write(sql.trimItems(prefix, keep))
      removed += step
      if (step < sql.MAX_TRIMMED) return removed
    }
  }

  async dead(queue: string, page: ItemPage): Promise<readonly DeadItem[]> {
    check.name('dead: queue', queue)
    check.page('dead', page)
    return this.#operations.query(sql.deadItems(queue, page))
  }

  async revive(queue: string, ids: readonly number[]): Promise<number> {
    check.name('revive: queue', queue)
    check.ids('revive: ids', ids)
    if (ids.length === 0) return 0
    const { count, ready } = await this.#operations.write(sql.reviveItems(queue, ids))
    this.#notify(ready)
    return count
  }

  async grant(scope: string, key: string, holder: string, leaseMs: number): Promise<NamedLease | LeaseConflict> {
    check.name('grant: scope', scope)
    check.key('grant: key', key)
    check.name('grant: holder', holder)
    check.leaseMs('grant: leaseMs', leaseMs)
    return this.#operations.write(sql.grantLease(scope, key, holder, leaseMs))
  }

  async renew(lease: LeaseToken, leaseMs: number): Promise<LeaseOutcome> {
    checkLease('renew: lease', lease)
    check.leaseMs('renew: leaseMs', leaseMs)
    return this.#operations.write(sql.renewLease(lease, leaseMs))
  }

  async release(lease: LeaseToken): Promise<LeaseOutcome> {
    checkLease('release: lease', lease)
    return this.#operations.write(sql.releaseLease(lease))
  }

  async revoke(scope: string, fence: number): Promise<boolean> {
    check.name('revoke: scope', scope)
    check.fence('revoke: fence', fence)
    return this.#operations.write(sql.revokeLease(scope, fence))
  }

  async leases(
    scope: string,
    { after = 0, limit = DEFAULT_LEASES }: { readonly after?: number; readonly limit?: number } = {}
  ): Promise<readonly NamedLease[]> {
    check.name('leases: scope', scope)
    check.fence('leases: after', after)
    check.integer('leases: limit', limit, 1, MAX_COORDINATION_BATCH)
    return this.#operations.query(sql.listLeases(scope, after, limit))
  }

  readonly nodes: CoordinationNodes = {
    put: async (scope, id, record, expected) => {
      check.name('nodes.put: scope', scope)
      check.name('nodes.put: id', id)
      check.text('nodes.put: record', record, MAX_ITEM_BODY_BYTES)
      if (expected !== null) check.fence('nodes.put: expected', expected)
      return this.#operations.write(sql.putNode(scope, id, record, expected))
    },
    seen: async (scope, ids) => {
      check.name('nodes.seen: scope', scope)
      check.batch('nodes.seen: ids', ids)
      for (const [index, id] of ids.entries()) check.name(`nodes.seen: ids[${index}]`, id)
      return ids.length === 0 ? [] : this.#operations.write(sql.seeNodes(scope, ids))
    },
    see: async (scope, id) => {
      check.name('nodes.see: scope', scope)
      check.name('nodes.see: id', id)
      return this.#operations.write(sql.seeNode(scope, id))
    },
    flag: async (scope, id, flags) => {
      check.name('nodes.flag: scope', scope)
      check.name('nodes.flag: id', id)
      check.flags('nodes.flag: flags', flags)
      return this.#operations.write(sql.flagNode(scope, id, flags))
    },
    remove: async (scope, id) => {
      check.name('nodes.remove: scope', scope)
      check.name('nodes.remove: id', id)
      return this.#operations.write(sql.removeNode(scope, id))
    },
    find: async (scope, id) => {
      check.name('nodes.find: scope', scope)
      check.name('nodes.find: id', id)
      return this.#operations.query(sql.findNode(scope, id))
    },
    list: async (scope, since) => {
      check.name('nodes.list: scope', scope)
      if (since !== undefined) check.fence('nodes.list: since', since)
      return this.#operations.query(sql.listNodes(scope, since ?? null))
    }
  }

  readonly meta: CoordinationMeta = {
    get: async name => {
      check.name('meta.get: name', name)
      return this.#operations.query(sql.getMeta(name))
    },
    swap: async (name, from, to) => {
      check.name('meta.swap: name', name)
      if (from !== null) check.text('meta.swap: from', from, MAX_ITEM_BODY_BYTES)
      if (to !== null) check.text('meta.swap: to', to, MAX_ITEM_BODY_BYTES)
      return this.#operations.write(sql.swapMeta(name, from, to))
    }
  }

  async useOnce(
    values: readonly { readonly value: string; readonly expiresAt: number }[]
  ): Promise<readonly boolean[]> {
    check.onceValues(values)
    return values.length === 0 ? [] : this.#operations.write(sql.useValuesOnce(values))
  }

  async takeTokens(
    bucket: string,
    limit: { readonly perSecond: number; readonly burst: number; readonly wanted: number }
  ): Promise<number> {
    check.bucket(bucket, limit)
    return this.#operations.write(sql.takeBucketTokens(bucket, limit))
  }

  async now(): Promise<number> {
    return this.#operations.query(sql.readTime())
  }

  hints(queues: readonly string[], on: (queue: string) => void): () => void {
    check.batch('hints: queues', queues)
    for (const [index, queue] of queues.entries()) check.name(`hints: queues[${index}]`, queue)
    return this.#hints.subscribe(queues, on)
  }

  /** Waits for calls that have started; later calls throw `CRD_CLOSED`. Idempotent. */
  async close(): Promise<void> {
    this.#hints.clear()
    await this.#operations.close()
  }

  async #apply(operation: sql.SqlOperation<sql.AppliedTokens>): Promise<readonly boolean[]> {
    const { applied, ready } = await this.#operations.write(operation)
    this.#notify(ready)
    return applied
  }

  #notify(ready: readonly sql.ReadyItem[]): void {
    this.#hints.publish(ready.map(({ queue }) => queue))
  }
}

function checkLease(where: string, lease: LeaseToken): void {
  check.name(`${where}.scope`, lease.scope)
  check.fence(`${where}.fence`, lease.fence)
  check.name(`${where}.holder`, lease.holder)
}
