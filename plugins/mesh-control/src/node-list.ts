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

/** The nodes as the store had them. */
interface Snapshot {
  readonly version: number
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
  #kept: { readonly snapshot: Promise<Snapshot>; readonly at: number } | null = null

  constructor(options: NodeListsOptions) {
    this.#options = options
  }

  /** Drops the lists, after a change by this process: its client may read the list next. */
  changed(): void {
    this.#kept = null
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
   * Returns the changes after a version, and the number of all nodes. If the store no longer knows them, or old nodes are
   * left out, the list is complete. With `staleMs`, `stale` has the ids of nodes that were not seen for so long: signs of
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
    if (pruneMs > 0) return render({ ...common, nodes, complete: true, removed: [] })
    if (version === snapshot.version) return render({ ...common, nodes: [], complete: false, removed: [] })
    const list = await store().nodes.list(scope.stored, version)
    // The list may be newer than the number of nodes, which then does not belong to it.
    const count = list.version === snapshot.version ? nodes.length : undefined
    return render({ ...list, removed: list.complete ? [] : list.removed, stale, count })
  }

  #snapshot(keepMs: number): Promise<Snapshot> {
    const at = performance.now()
    if (this.#kept === null || at - this.#kept.at >= keepMs) {
      const snapshot = this.#read()
      this.#kept = { snapshot, at }
      snapshot.catch(() => {
        if (this.#kept?.snapshot === snapshot) this.#kept = null
      })
    }
    return this.#kept.snapshot
  }

  async #read(): Promise<Snapshot> {
    const { store, scope, pruneMs } = this.#options
    const [{ nodes: all, version }, now] = await Promise.all([store().nodes.list(scope.stored), store().now()])
    const nodes = pruneMs === 0 ? all : all.filter(({ seenAt }) => now - seenAt <= pruneMs)
    return { version, nodes, now, rendered: new Map() }
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
