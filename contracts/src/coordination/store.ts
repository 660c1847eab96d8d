import { service } from '@svc/plugin-sdk'

/**
 * Store of everything that has at most one holder: queue items, named leases, and the shared state of control planes.
 *
 * - Safety comes only from the fence, a token that grows with each grant of the same item or lease key, also over
 *   deletion, restore and failover. A write with an old fence is refused.
 * - Time decides only when a lease may pass on. It is the store's time in Unix milliseconds, read inside the statement.
 * - A resolved promise means that the change is committed and durable. After `CRD_UNAVAILABLE` the outcome is unknown:
 *   repeat `put` with its key, and `ack`, `extend`, `nack` and `park` with their token. Repeating is safe.
 * - Methods with an array apply all elements in one transaction, and answer in the order of the array.
 *
 * All methods may throw `CRD_CLOSED`, `CRD_FAILED`, `CRD_TOO_LARGE`, `CRD_UNAVAILABLE` and `CRD_VALUE_INVALID`.
 */
export const coordinationStore = service<Coordination>('coordination.store@1')

export interface Coordination {
  /** `libsql` or `postgres`; another implementation names itself. */
  readonly kind: string
  /** Path or URL without credentials. */
  readonly location: string

  /** Adds items. A key that was used before in its queue adds nothing, and returns the first item's id. */
  put(items: readonly NewItem[]): Promise<readonly PutResult[]>
  /**
   * Leases ready items to a holder: higher priority first, then the lower id. Items with more than `maxAttempts` claims
   * move to the dead items instead.
   */
  claim(queue: string, holder: string, options: ClaimOptions): Promise<readonly ClaimedItem[]>
  /**
   * Claims for a node of a mesh, which is the holder. Null, and nothing is claimed, if the node does not exist or has
   * another version: so its record is read only after a change.
   */
  claimAs(node: NodeVersion, queue: string, options: ClaimOptions): Promise<readonly ClaimedItem[] | null>
  /**
   * Removes items. True at most once an item, and only with its current fence; also after the lease has expired, unless
   * another item of its lane was claimed since.
   */
  ack(tokens: readonly AckToken[]): Promise<readonly boolean[]>
  /** Extends leases from now on. True only with the current fence and before the lease has expired. */
  extend(tokens: readonly ItemToken[], leaseMs: number): Promise<readonly boolean[]>
  /**
   * Returns leased items to their queue, ready after `delayMs`, or at once if they were woken since they were claimed.
   * True at most once a claim, and only with the current fence; then the token is no longer valid.
   */
  nack(
    tokens: readonly ItemToken[],
    options: { readonly delayMs: number; readonly error?: string }
  ): Promise<readonly boolean[]>
  /**
   * Holds leased items back until `wake`. An item that was woken since it was claimed becomes ready at once. True as for
   * `nack`.
   */
  park(tokens: readonly ItemToken[]): Promise<readonly boolean[]>
  /** Wakes parked, delayed and leased items by key. Returns the number of keys with an item. */
  wake(queue: string, keys: readonly string[]): Promise<number>
  /** Removes an item whatever its state. `leased`: it had a holder, whose next call with its fence is false. */
  withdraw(queue: string, id: number): Promise<'taken' | 'leased' | 'gone'>
  /**
   * Returns items by id without a claim, as far as they exist. Throws `CRD_TOO_LARGE` if their bodies have
   * more than {@link MAX_COORDINATION_PAGE_BYTES}.
   */
  read(queue: string, ids: readonly number[]): Promise<readonly StoredItem[]>
  /**
   * Returns items without a claim, the newest first. A page, as a claim, ends early when its bodies reach
   * {@link MAX_COORDINATION_PAGE_BYTES}, but not before its first item.
   */
  look(queue: string, page: ItemPage): Promise<readonly StoredItem[]>
  /**
   * Returns those of the queues from which something can be claimed now, in any order: ready items, delayed items whose
   * time has come, and items whose lease has expired. One query for many waiting consumers.
   */
  ready(queues: readonly string[]): Promise<readonly string[]>
  /** Counts the items of all queues whose name starts with `prefix`. */
  count(prefix: string): Promise<number>
  /** Removes the oldest items of these queues until at most `keep` remain. Returns the number of removed items. */
  trim(prefix: string, keep: number): Promise<number>
  /** Returns the items that exceeded their attempts, the newest first. */
  dead(queue: string, page: ItemPage): Promise<readonly DeadItem[]>
  /** Makes dead items ready again, with their id, and without attempts. Returns the number of revived items. */
  revive(queue: string, ids: readonly number[]): Promise<number>

  /** Grants a named lease. The holder of a live lease gets it extended, with the same fence. */
  grant(scope: string, key: string, holder: string, leaseMs: number): Promise<NamedLease | LeaseConflict>
  /** `gone`: expired, released, revoked, or passed on. `other`: live, but of another holder. */
  renew(lease: LeaseToken, leaseMs: number): Promise<LeaseOutcome>
  release(lease: LeaseToken): Promise<LeaseOutcome>
  /** Ends a live lease of any holder. False if there is none with this fence. */
  revoke(scope: string, fence: number): Promise<boolean>
  /** Returns the live leases of a scope, by fence. */
  leases(scope: string, page?: { readonly after?: number; readonly limit?: number }): Promise<readonly NamedLease[]>

  readonly nodes: CoordinationNodes
  readonly meta: CoordinationMeta
  /**
   * Records values that may be used once until a time in Unix milliseconds. True for a value that was not recorded
   * before. Recorded values survive a restart; the store removes them after their time.
   */
  useOnce(values: readonly { readonly value: string; readonly expiresAt: number }[]): Promise<readonly boolean[]>
  /**
   * Takes up to `wanted` tokens of a bucket that fills with `perSecond` tokens up to `burst`, over all processes.
   * Returns the number of tokens taken. Buckets may be lost at a crash.
   */
  takeTokens(
    bucket: string,
    limit: { readonly perSecond: number; readonly burst: number; readonly wanted: number }
  ): Promise<number>

  /** The store's time in Unix milliseconds. */
  now(): Promise<number>
  /**
   * Calls `on` when items of a queue became ready. Hints may be lost, late or repeated: a consumer polls as well.
   * Returns the unsubscribe function.
   */
  hints(queues: readonly string[], on: (queue: string) => void): () => void
}

export interface NewItem {
  readonly queue: string
  /** Identifies the item in its queue for ever, also after it was acknowledged. */
  readonly key?: string
  /** JSON text, at most {@link MAX_ITEM_BODY_BYTES} of UTF-8. */
  readonly body: string
  /** From 0 to 255, default 128; higher is claimed first. */
  readonly priority?: number
  /** Milliseconds until the item is ready; default 0. */
  readonly delayMs?: number
  /** Maximum number of claims; default unlimited. */
  readonly maxAttempts?: number
  /** At most one item of a lane is leased at a time. */
  readonly lane?: string
  /** Number that `privacy` of a claim must list; default 0. */
  readonly privacy?: number
}

export interface PutResult {
  readonly id: number
  /** False if the key was used before. */
  readonly fresh: boolean
  /** Result that the earlier item was acknowledged with, for 24 hours. */
  readonly result?: string
}

export interface ClaimOptions {
  /** Maximum number of items. */
  readonly max: number
  readonly leaseMs: number
  /** Only items with one of these numbers; default: all. */
  readonly privacy?: readonly number[]
  /** True: items that the holder has leased already are leased again, with a new fence; default false. */
  readonly own?: boolean
}

/** Names a version of a node. */
export interface NodeVersion {
  readonly scope: string
  readonly id: string
  readonly version: number
}

/** Names a leased item. */
export interface ItemToken {
  readonly id: number
  readonly fence: number
}

export interface AckToken extends ItemToken {
  /** Kept for 24 hours for `put` with the same key. */
  readonly result?: string
  /** True: forgets the item's key, so that a later `put` with it adds a new item; default false. */
  readonly freeKey?: boolean
  /** Queue that the item must be in; default any. */
  readonly queue?: string
}

export interface StoredItem {
  readonly id: number
  readonly queue: string
  readonly body: string
  readonly priority: number
  readonly lane: string | null
  readonly privacy: number
  readonly state: 'ready' | 'leased' | 'delayed' | 'parked'
  /** Number of claims so far. */
  readonly attempts: number
  readonly maxAttempts: number | null
  /** Grows with each claim. */
  readonly fence: number
  /** Last holder; null if the item was never claimed. */
  readonly holder: string | null
  /** When a delayed item becomes ready, or a lease expires; Unix milliseconds. */
  readonly visibleAt: number
  readonly createdAt: number
}

export interface ClaimedItem extends StoredItem {
  readonly state: 'leased'
  readonly holder: string
}

export interface DeadItem extends StoredItem {
  /** Error of the last `nack`; null if a lease expired instead. */
  readonly error: string | null
  readonly diedAt: number
}

export interface ItemPage {
  /** Only items with a lower id. */
  readonly before?: number
  readonly limit: number
}

/** Names a live lease of a holder. */
export interface LeaseToken {
  readonly scope: string
  readonly fence: number
  readonly holder: string
}

export interface NamedLease extends LeaseToken {
  readonly key: string
  /** Unix milliseconds of the store. */
  readonly expiresAt: number
}

/** Another holder has the lease. */
export interface LeaseConflict {
  readonly heldBy: string
  readonly expiresAt: number
}

export type LeaseOutcome = 'ok' | 'gone' | 'other'

/** Nodes of a mesh, by scope. Records are JSON text. */
export interface CoordinationNodes {
  /**
   * Stores the record of a node, if its version is still `expected`; null: the node must not exist. Returns the node;
   * null if another writer was faster. Also marks the node as seen. Keeps quarantine and maintenance; of a node that
   * was removed before, only the quarantine.
   */
  put(scope: string, id: string, record: string, expected: number | null): Promise<StoredNode | null>
  /** Marks nodes as seen now. Answers with the nodes that exist; the loss of the last second at a crash is accepted. */
  seen(scope: string, ids: readonly string[]): Promise<readonly string[]>
  /** Marks a node as seen now, as `seen` does, and returns it; null if it does not exist. */
  see(scope: string, id: string): Promise<StoredNode | null>
  /** Changes quarantine or maintenance. False if the node does not exist. */
  flag(scope: string, id: string, flags: NodeFlags): Promise<boolean>
  remove(scope: string, id: string): Promise<boolean>
  find(scope: string, id: string): Promise<StoredNode | null>
  /** Returns all nodes by id. With `since`, only those that changed after that version, and the removed ones. */
  list(scope: string, since?: number): Promise<NodeList>
}

export interface NodeFlags {
  readonly quarantined?: boolean
  readonly maintenance?: boolean
  /** End of the maintenance in Unix milliseconds; null: until it is switched off. */
  readonly maintenanceUntil?: number | null
}

export interface StoredNode {
  readonly id: string
  readonly record: string
  /** Grows with each change of record or flags, over all nodes of the scope. */
  readonly version: number
  readonly quarantined: boolean
  /** False once its end has passed. */
  readonly maintenance: boolean
  readonly maintenanceUntil: number | null
  /** Unix milliseconds of the store. */
  readonly seenAt: number
}

export interface NodeList {
  /** Version of the list, for `since`. */
  readonly version: number
  /** False if only changes are listed. */
  readonly complete: boolean
  readonly nodes: readonly StoredNode[]
  readonly removed: readonly string[]
}

/** Named texts that all processes share. */
export interface CoordinationMeta {
  get(name: string): Promise<string | null>
  /** Replaces `from` with `to`; null stands for a missing text. False if the text is not `from`. */
  swap(name: string, from: string | null, to: string | null): Promise<boolean>
}

/** Maximum size of a body in bytes of UTF-8. */
export const MAX_ITEM_BODY_BYTES = 8 * 1024 * 1024
/** Maximum length of a queue, holder, lane, scope or node id, in characters. */
export const MAX_COORDINATION_NAME = 512
/** Maximum length of an item's key or a lease's key, in characters. */
export const MAX_COORDINATION_KEY = 2_048
/** Maximum number of elements of an array. */
export const MAX_COORDINATION_BATCH = 1_000
/** Maximum bytes of the bodies of one call, in UTF-8. */
export const MAX_COORDINATION_PAGE_BYTES = 64 * 1024 * 1024
/** How long the result of an acknowledged item is kept, in milliseconds. */
export const RESULT_RETENTION_MS = 24 * 60 * 60 * 1_000
