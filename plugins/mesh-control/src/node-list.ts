import { createHash } from 'node:crypto'
import type { Coordination, StoredNode } from '@svc/contracts'
import { nodeJson } from './node-registry.ts'
import { RecordLimit } from './record-limit.ts'
import type { MeshScope } from './scope.ts'

/** How long the list of all nodes is served, in milliseconds. */
const KEEP_MS = 250
/** The same for changes, which nodes read about every 30 s. */
const KEEP_CHANGES_MS = 1_000
/** Lists of changes that are kept for other readers. */
const MAX_KEPT_CHANGES = 256
/** Maximum bytes of one record. That of a real machine has about 1,000. */
const MAX_RECORD_BYTES = 32_768
/** Maximum bytes of the list. A node reads at most 16 MiB, so a longer list would reach none. */
const MAX_LIST_BYTES = 12 * 1024 * 1024
/** The same for records that grow: heartbeats of nodes of a full mesh are still accepted. */
const MAX_GROWN_LIST_BYTES = 14 * 1024 * 1024

export interface RenderedList {
  readonly body: string
  readonly etag: string
}

/** Removed nodes that are remembered. */
const MAX_REMOVED = 10_000

/** The nodes as the store had them. */
interface Snapshot {
  readonly version: number
  /** All nodes, also those that are left out. */
  readonly all: ReadonlyMap<string, StoredNode>
  readonly nodes: readonly StoredNode[]
  /** The store's clock in Unix milliseconds. */
  readonly now: number
  /** Lists that were rendered of it, by their parameters. */
  readonly rendered: Map<string, Promise<RenderedList>>
}

export interface NodeListsOptions {
  readonly store: () => Coordination
  readonly scope: MeshScope
  /** Age in milliseconds above which nodes are left out; 0: none. */
  readonly pruneMs: number
}

/** Renders lists of nodes. The nodes are read again after 250 ms, and after 1 s for lists of changes. */
export class NodeLists {
  readonly #options: NodeListsOptions
  #kept: { readonly snapshot: Promise<Snapshot>; readonly at: number; isCurrent: boolean } | null = null
  #latest: Snapshot | null = null
  /** Version at which each node was missing for the first time, from the version `#removedSince` on. */
  readonly #removed = new Map<string, number>()
  #removedSince = 0

  constructor(options: NodeListsOptions) {
    this.#options = options
  }

  /** Makes the next list contain a change by this process: its client may read the list next. */
  changed(): void {
    if (this.#kept !== null) this.#kept.isCurrent = false
  }

  /** Returns the bytes of the list of all nodes. */
  async size(): Promise<number> {
    return Buffer.byteLength((await this.all()).body)
  }

  /** Returns all nodes. */
  async all(): Promise<RenderedList> {
    const snapshot = await this.#snapshot(KEEP_MS)
    return rendered(snapshot, 'all', async () => {
      const { nodes, version } = snapshot
      return render({ nodes, version, queue_depth: await this.#options.store().count(this.#options.scope.mailboxes) })
    })
  }

  /**
   * Returns the changes after a version, and the number of all nodes. After version 0, if the store no longer knows the
   * changes, and if old nodes are left out, the list is complete. With `staleMs`, `stale` has the ids of nodes that were not seen for so long: signs of
   * life are no changes.
   */
  async since(version: number, staleMs: number | null): Promise<RenderedList> {
    const snapshot = await this.#snapshot(KEEP_CHANGES_MS)
    return rendered(snapshot, `${version} ${staleMs}`, () => this.#changes(snapshot, version, staleMs))
  }

  async #changes(snapshot: Snapshot, version: number, staleMs: number | null): Promise<RenderedList> {
    const { store, scope, pruneMs } = this.#options
    const { nodes, now } = snapshot
    const isStale = ({ seenAt }: StoredNode): boolean => now - seenAt > (staleMs ?? Infinity)
    const stale = staleMs === null ? null : nodes.filter(isStale).map(({ id }) => id)
    const common = { version: snapshot.version, stale, count: nodes.length }
    if (pruneMs > 0 || version === 0) return render({ ...common, nodes, complete: true, removed: [] })
    if (version === snapshot.version) return render({ ...common, nodes: [], complete: false, removed: [] })
    if (version >= this.#removedSince && version < snapshot.version) {
      const removed = [...this.#removed].filter(([id, at]) => at > version && !snapshot.all.has(id)).map(([id]) => id)
      return render({ ...common, nodes: nodes.filter(each => each.version > version), complete: false, removed })
    }
    const list = await store().nodes.list(scope.stored, version)
    // The list may be newer than the number of nodes, which then does not belong to it.
    const count = list.version === snapshot.version ? nodes.length : undefined
    return render({ ...list, removed: list.complete ? [] : list.removed, stale, count })
  }

  #snapshot(keepMs: number): Promise<Snapshot> {
    const now = performance.now()
    const kept = this.#kept !== null && now - this.#kept.at < keepMs ? this.#kept : null
    if (kept?.isCurrent === true) return kept.snapshot
    // After a change, only that is read. The times at which nodes were seen are those of the kept snapshot.
    const snapshot = kept === null ? this.#read() : this.#refresh(kept.snapshot)
    const next = { snapshot, at: kept?.at ?? now, isCurrent: true }
    this.#kept = next
    snapshot.catch(() => {
      if (this.#kept === next) this.#kept = null
    })
    return snapshot
  }

  async #read(): Promise<Snapshot> {
    const { store, scope } = this.#options
    const [{ nodes, version }, now] = await Promise.all([store().nodes.list(scope.stored), store().now()])
    return this.#snapshotOf(new Map(nodes.map(node => [node.id, node])), version, now)
  }

  async #refresh(before: Promise<Snapshot>): Promise<Snapshot> {
    const base = await before.catch(() => null)
    if (base === null) return this.#read()
    const { store, scope } = this.#options
    const { nodes, removed, complete, version } = await store().nodes.list(scope.stored, base.version)
    const all = new Map(complete ? [] : base.all)
    for (const id of removed) all.delete(id)
    for (const node of nodes) all.set(node.id, node)
    const ordered = new Map([...all].sort(([a], [b]) => (a < b ? -1 : 1)))
    return this.#snapshotOf(ordered, version, base.now)
  }

  #snapshotOf(all: ReadonlyMap<string, StoredNode>, version: number, now: number): Snapshot {
    const { pruneMs } = this.#options
    const nodes = [...all.values()].filter(({ seenAt }) => pruneMs === 0 || now - seenAt <= pruneMs)
    const snapshot = { version, all, nodes, now, rendered: new Map() }
    const latest = this.#latest
    // An older snapshot may arrive late.
    if (latest !== null && latest.version > version) return snapshot
    if (latest === null || this.#removed.size > MAX_REMOVED) {
      this.#removed.clear()
      this.#removedSince = version
    }
    for (const id of latest?.all.keys() ?? []) if (!all.has(id)) this.#removed.set(id, version)
    this.#latest = snapshot
    return snapshot
  }
}

/** Returns a list that was rendered of a snapshot before, or renders it. */
function rendered(snapshot: Snapshot, key: string, run: () => Promise<RenderedList>): Promise<RenderedList> {
  const lists = snapshot.rendered
  const known = lists.get(key)
  if (known !== undefined) return known
  const list = run()
  if (lists.size < MAX_KEPT_CHANGES) lists.set(key, list)
  list.catch(() => lists.delete(key))
  return list
}

/** Returns the limit of the records of nodes. */
export function nodeLimit(lists: NodeLists): RecordLimit {
  return new RecordLimit({
    what: 'the record of a node',
    remedy: 'set server_stale_prune_ms, so that nodes that left without notice are not listed',
    maxBytes: MAX_RECORD_BYTES,
    maxTotalBytes: MAX_LIST_BYTES,
    maxGrownBytes: MAX_GROWN_LIST_BYTES,
    total: () => lists.size()
  })
}

interface ListParts {
  readonly nodes: readonly StoredNode[]
  readonly version: number
  readonly queue_depth?: number
  readonly complete?: boolean
  readonly removed?: readonly string[]
  readonly stale?: readonly string[] | null
  readonly count?: number | undefined
}

function render({ nodes, version, queue_depth, complete, removed, stale, count }: ListParts): RenderedList {
  const rest = JSON.stringify({ queue_depth, version, complete, removed, stale: stale ?? undefined, count })
  const body = `{"schema_version":1,"nodes":[${nodes.map(nodeJson).join(',')}],${rest.slice(1)}`
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }
}
