import {
  type AckToken,
  CallBatches,
  type ClaimedItem,
  type ClaimOptions,
  type Coordination,
  type CoordinationFanout,
  type CoordinationMeta,
  type CoordinationNodes,
  coordinationChecks as check,
  type DeadItem,
  type ItemPage,
  type ItemToken,
  type LeaseConflict,
  type LeaseOutcome,
  type LeaseToken,
  MAX_COORDINATION_BATCH,
  MAX_ITEM_BODY_BYTES,
  type NamedLease,
  type NewItem,
  type NodeVersion,
  type PutResult,
  type StoredItem
} from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { Connections } from './connections.ts'
import { hadNoEffect } from './database-errors.ts'
import { Hints } from './hints.ts'
import { Items } from './items.ts'
import { hashText } from './key-hash.ts'
import { Leases } from './leases.ts'
import { Nodes } from './nodes.ts'
import type { ServerAddress } from './server-address.ts'
import { statements } from './statements.ts'
import { WorkflowRuns } from './workflow-runs.ts'

/** Minimum interval between two cleanings, in milliseconds. */
const CLEANING_INTERVAL_MS = 60_000
/** Maximum rows of each kind that one cleaning removes. */
const MAX_CLEANED = 1_000

export interface PostgresCoordinationOptions {
  readonly address: ServerAddress
  /** Maximum connections for calls. */
  readonly connections: number
  /** Carries hints to other processes; null: the server does. */
  readonly fanout: CoordinationFanout | null
  readonly log: Logger
}

type OnceValue = { readonly value: string; readonly expiresAt: number }

/** Coordination store in the schema `svc_coord` of a PostgreSQL database. Connects at the first call. */
export class PostgresCoordination implements Coordination {
  readonly kind = 'postgres'
  readonly location: string
  readonly nodes: CoordinationNodes
  readonly meta: CoordinationMeta
  readonly #connections: Connections
  readonly #hints: Hints
  readonly #items: Items
  readonly #leases: Leases
  readonly #uses: CallBatches<OnceValue, boolean>
  readonly #cleaner: NodeJS.Timeout

  constructor({ address, connections, fanout, log }: PostgresCoordinationOptions) {
    this.location = address.location
    this.#connections = new Connections({ address, connections, log })
    this.#hints = new Hints({ connections: this.#connections, fanout, log })
    this.#items = new Items(this.#connections, this.#hints)
    this.#leases = new Leases(this.#connections)
    this.nodes = new Nodes(this.#connections)
    this.meta = new Meta(this.#connections)
    this.#uses = new CallBatches({ run: values => this.#use(values), maxWeight: MAX_COORDINATION_BATCH, hadNoEffect })
    this.#cleaner = setInterval(() => void this.#clean(), CLEANING_INTERVAL_MS)
    this.#cleaner.unref()
  }

  put(items: readonly NewItem[]): Promise<readonly PutResult[]> {
    return this.#items.put(items)
  }

  claim(queue: string, holder: string, options: ClaimOptions): Promise<readonly ClaimedItem[]> {
    return this.#items.claim(queue, holder, options)
  }

  claimAs(node: NodeVersion, queue: string, options: ClaimOptions): Promise<readonly ClaimedItem[] | null> {
    return this.#items.claimAs(node, queue, options)
  }

  ack(tokens: readonly AckToken[]): Promise<readonly boolean[]> {
    return this.#items.ack(tokens)
  }

  extend(tokens: readonly ItemToken[], leaseMs: number): Promise<readonly boolean[]> {
    return this.#items.extend(tokens, leaseMs)
  }

  nack(
    tokens: readonly ItemToken[],
    options: { readonly delayMs: number; readonly error?: string }
  ): Promise<readonly boolean[]> {
    return this.#items.nack(tokens, options)
  }

  park(tokens: readonly ItemToken[]): Promise<readonly boolean[]> {
    return this.#items.park(tokens)
  }

  wake(queue: string, keys: readonly string[]): Promise<number> {
    return this.#items.wake(queue, keys)
  }

  withdraw(queue: string, id: number): Promise<'taken' | 'leased' | 'gone'> {
    return this.#items.withdraw(queue, id)
  }

  read(queue: string, ids: readonly number[]): Promise<readonly StoredItem[]> {
    return this.#items.read(queue, ids)
  }

  look(queue: string, page: ItemPage): Promise<readonly StoredItem[]> {
    return this.#items.look(queue, page)
  }

  ready(queues: readonly string[]): Promise<readonly string[]> {
    return this.#items.ready(queues)
  }

  count(prefix: string): Promise<number> {
    return this.#items.count(prefix)
  }

  trim(prefix: string, keep: number): Promise<number> {
    return this.#items.trim(prefix, keep)
  }

  dead(queue: string, page: ItemPage): Promise<readonly DeadItem[]> {
    return this.#items.dead(queue, page)
  }

  revive(queue: string, ids: readonly number[]): Promise<number> {
    return this.#items.revive(queue, ids)
  }

  grant(scope: string, key: string, holder: string, leaseMs: number): Promise<NamedLease | LeaseConflict> {
    return this.#leases.grant(scope, key, holder, leaseMs)
  }

  renew(lease: LeaseToken, leaseMs: number): Promise<LeaseOutcome> {
    return this.#leases.renew(lease, leaseMs)
  }

  release(lease: LeaseToken): Promise<LeaseOutcome> {
    return this.#leases.release(lease)
  }

  revoke(scope: string, fence: number): Promise<boolean> {
    return this.#leases.revoke(scope, fence)
  }

  leases(scope: string, page?: { readonly after?: number; readonly limit?: number }): Promise<readonly NamedLease[]> {
    return this.#leases.list(scope, page)
  }

  async useOnce(values: readonly OnceValue[]): Promise<readonly boolean[]> {
    check.onceValues(values)
    return this.#uses.call(values)
  }

  async takeTokens(
    bucket: string,
    limit: { readonly perSecond: number; readonly burst: number; readonly wanted: number }
  ): Promise<number> {
    check.bucket(bucket, limit)
    const { perSecond, burst, wanted } = limit
    const [row] = await this.#connections.call(statements.takeTokens, [bucket, perSecond, burst, wanted])
    return row?.taken as number
  }

  async now(): Promise<number> {
    const [row] = await this.#connections.call(statements.now, [])
    return row?.now as number
  }

  hints(queues: readonly string[], on: (queue: string) => void): () => void {
    check.batch('hints: queues', queues)
    for (const [index, queue] of queues.entries()) check.name(`hints: queues[${index}]`, queue)
    return this.#hints.subscribe(queues, on)
  }

  /**
   * Ends all leases and refuses their tokens, after a backup was restored. The number of the epoch is at least `epoch`.
   * Returns it.
   */
  newEpoch(epoch?: number): Promise<number> {
    return this.#connections.newEpoch(epoch)
  }

  /** Returns the runs of the workflows of a repository. They use the connections of this store. */
  workflows(repository: string): WorkflowRuns {
    return new WorkflowRuns(this.#connections, repository)
  }

  /** Waits for calls that the server is working on; all other calls throw `CRD_CLOSED`. Idempotent. */
  async close(): Promise<void> {
    clearInterval(this.#cleaner)
    await Promise.all([this.#hints.close(), this.#connections.close()])
  }

  async #use(values: readonly OnceValue[]): Promise<readonly boolean[]> {
    const rows = await this.#connections.call(statements.useOnce, [
      values.map(({ value }) => hashText(value)),
      values.map(({ expiresAt }) => expiresAt)
    ])
    return rows.map(({ fresh }) => fresh as boolean)
  }

  /** Removes what has passed its time. Errors are ignored: the next attempt follows. */
  async #clean(): Promise<void> {
    // A store that was never used stays without connections.
    if (!this.#connections.wasUsed) return
    try {
      await this.#connections.call(statements.clean, [MAX_CLEANED])
    } catch {}
  }
}

/** Named texts that all processes share. The name `epoch` is part of every fence: its text is a number. */
class Meta implements CoordinationMeta {
  readonly #connections: Connections

  constructor(connections: Connections) {
    this.#connections = connections
  }

  async get(name: string): Promise<string | null> {
    check.name('meta.get: name', name)
    const [row] = await this.#connections.call(statements.metaGet, [name])
    return (row?.value as string | undefined) ?? null
  }

  async swap(name: string, from: string | null, to: string | null): Promise<boolean> {
    check.name('meta.swap: name', name)
    if (from !== null) check.text('meta.swap: from', from, MAX_ITEM_BODY_BYTES)
    if (to !== null) check.text('meta.swap: to', to, MAX_ITEM_BODY_BYTES)
    const [row] = await this.#connections.call(statements.metaSwap, [name, from, to])
    return row?.done as boolean
  }
}
