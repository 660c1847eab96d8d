import { createHash } from 'node:crypto'
import type { Coordination, StoredNode } from '@svc/contracts'
import { nodeJson } from './node-registry.ts'
import { RecordLimit } from './record-limit.ts'
import type { MeshScope } from './scope.ts'

/** How long a list is served, in milliseconds. */
const KEEP_MS = 250
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
interface Snapshot extends RenderedList {
  readonly version: number
  readonly nodes: readonly StoredNode[]
  /** The store's clock in Unix milliseconds. */
  readonly now: number
}

export interface NodeListsOptions {
  readonly store: () => Coordination
  readonly scope: MeshScope
  /** Age in milliseconds above which nodes are left out; 0: none. */
  readonly pruneMs: number
}

/** Renders lists of nodes, which are read at most every 250 ms unless a node changed here. */
export class NodeLists {
  readonly #options: NodeListsOptions
  #kept: { readonly snapshot: Promise<Snapshot>; readonly at: number } | null = null

  constructor(options: NodeListsOptions) {
    this.#options = options
  }

  /** Drops the list, after a change by this process: its client may read the list next. */
  changed(): void {
    this.#kept = null
  }

  /** Returns the bytes of the list of all nodes. */
  async size(): Promise<number> {
    return Buffer.byteLength((await this.#snapshot()).body)
  }

  /** Returns all nodes. */
  all(): Promise<RenderedList> {
    return this.#snapshot()
  }

  /**
   * Returns the changes after a version. If the store no longer knows them, or old nodes are left out, the list is
   * complete. With `staleMs`, `stale` has the ids of nodes that were not seen for so long: signs of life are no changes.
   */
  async since(version: number, staleMs: number | null): Promise<RenderedList> {
    const { store, scope, pruneMs } = this.#options
    const snapshot = await this.#snapshot()
    const stale =
      staleMs === null
        ? null
        : snapshot.nodes.filter(({ seenAt }) => snapshot.now - seenAt > staleMs).map(({ id }) => id)
    if (pruneMs > 0)
      return render({ nodes: snapshot.nodes, version: snapshot.version, complete: true, removed: [], stale })
    if (version === snapshot.version) return render({ nodes: [], version, complete: false, removed: [], stale })
    const list = await store().nodes.list(scope.stored, version)
    return render({ ...list, removed: list.complete ? [] : list.removed, stale })
  }

  #snapshot(): Promise<Snapshot> {
    const at = performance.now()
    if (this.#kept === null || at - this.#kept.at >= KEEP_MS) {
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
    const [list, queue_depth, now] = await Promise.all([
      store().nodes.list(scope.stored),
      store().count(scope.mailboxes),
      store().now()
    ])
    const { version } = list
    const nodes = pruneMs === 0 ? list.nodes : list.nodes.filter(({ seenAt }) => now - seenAt <= pruneMs)
    return { ...render({ nodes, version, queue_depth }), version, nodes, now }
  }
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
}

function render({ nodes, version, queue_depth, complete, removed, stale }: ListParts): RenderedList {
  const rest = JSON.stringify({ queue_depth, version, complete, removed, stale: stale ?? undefined })
  const body = `{"schema_version":1,"nodes":[${nodes.map(nodeJson).join(',')}],${rest.slice(1)}`
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }
}
