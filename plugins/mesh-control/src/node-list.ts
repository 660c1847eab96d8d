import { createHash } from 'node:crypto'
import type { Coordination, NodeListWire, StoredNode } from '@svc/contracts'
import { wireRecord } from './node-registry.ts'
import type { MeshScope } from './scope.ts'

/** How long a rendered list is served, in milliseconds. */
const KEEP_MS = 250

export interface RenderedList {
  readonly body: string
  readonly etag: string
}

export interface NodeListsOptions {
  readonly store: () => Coordination
  readonly scope: MeshScope
  /** Age in milliseconds above which nodes are left out; 0: none. */
  readonly pruneMs: number
}

/** Renders lists of nodes. The complete list is rendered at most every 250 ms, unless a node changed here. */
export class NodeLists {
  readonly #options: NodeListsOptions
  #rendered: { readonly list: Promise<RenderedList>; readonly at: number } | null = null

  constructor(options: NodeListsOptions) {
    this.#options = options
  }

  /** Drops the rendered list, after a change by this process: its client may read the list next. */
  changed(): void {
    this.#rendered = null
  }

  all(): Promise<RenderedList> {
    const now = performance.now()
    if (this.#rendered === null || now - this.#rendered.at >= KEEP_MS) {
      const list = this.#renderAll()
      this.#rendered = { list, at: now }
      list.catch(() => {
        if (this.#rendered?.list === list) this.#rendered = null
      })
    }
    return this.#rendered.list
  }

  /** Returns the changes after a version. If the store no longer knows them, the list is complete. */
  async since(version: number): Promise<RenderedList> {
    const { store, scope } = this.#options
    const list = await store().nodes.list(scope.stored, version)
    return rendered({
      schema_version: 1,
      nodes: await this.#shown(list.nodes),
      version: list.version,
      complete: list.complete,
      removed: list.removed
    })
  }

  async #renderAll(): Promise<RenderedList> {
    const { store, scope } = this.#options
    const [list, queue_depth] = await Promise.all([store().nodes.list(scope.stored), store().count(scope.mailboxes)])
    return rendered({ schema_version: 1, nodes: await this.#shown(list.nodes), queue_depth, version: list.version })
  }

  async #shown(nodes: readonly StoredNode[]): Promise<NodeListWire['nodes']> {
    const { store, pruneMs } = this.#options
    if (pruneMs === 0 || nodes.length === 0) return nodes.map(wireRecord)
    const now = await store().now()
    return nodes.filter(({ seenAt }) => now - seenAt <= pruneMs).map(wireRecord)
  }
}

function rendered(list: NodeListWire): RenderedList {
  const body = JSON.stringify(list)
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }
}
