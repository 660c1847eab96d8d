import type { NodeListWire, NodeRecord } from '@svc/contracts'
import type { MeshClient } from './client.ts'
import { isNodeRecord, isStaleAt } from './hints.ts'

/** Version before the first one: all nodes changed after it. */
const FIRST = 0

/** The nodes of a mesh as they were last read, of which only changes are read again. */
export class KnownNodes {
  readonly #nodes = new Map<string, NodeRecord>()
  #records: readonly NodeRecord[] = []
  /** Ids of stale nodes by the clock of the control plane; null if it does not name them. */
  #stale: ReadonlySet<string> | null = null
  #version = FIRST
  #etag: string | null = null
  /** Base URL of the control plane that answered last: another one may have another store. */
  #url: string | null = null
  /** False if the control plane counts other nodes, for example because its store was replaced. */
  #isWhole = true

  /** Records by id, one of each. */
  get records(): readonly NodeRecord[] {
    return this.#records
  }

  /** Whether a node was not seen for `staleMs`, which is 0 for none. `now`: Unix milliseconds of this machine. */
  isStale(node: NodeRecord, now: number, staleMs: number): boolean {
    if (staleMs === 0) return false
    return this.#stale?.has(node.id) ?? isStaleAt(node, now, staleMs)
  }

  clear(): void {
    this.#nodes.clear()
    this.#records = []
    this.#stale = null
    this.#version = FIRST
    this.#etag = null
  }

  /**
   * Reads what changed; all nodes the first time, and if the changes do not fit the known nodes. Throws the errors of the
   * client.
   */
  async read(client: Pick<MeshClient, 'nodesSince' | 'url'>, staleMs: number, signal: AbortSignal): Promise<void> {
    await this.#readOnce(client, staleMs, signal)
    const isOther = this.#url !== null && this.#url !== client.url
    if (isOther || !this.#isWhole) {
      this.clear()
      await this.#readOnce(client, staleMs, signal)
    }
    this.#url = client.url
  }

  async #readOnce(client: Pick<MeshClient, 'nodesSince'>, staleMs: number, signal: AbortSignal): Promise<void> {
    const { list, etag } = await client.nodesSince(this.#version, staleMs, this.#etag, signal)
    if (list !== null) this.#apply(list)
    this.#etag = etag
  }

  #apply({ nodes, complete, removed, stale, version, count }: NodeListWire): void {
    if (complete !== false) this.#nodes.clear()
    for (const id of textsOf(removed)) this.#nodes.delete(id)
    for (const node of nodes) if (isNodeRecord(node)) this.#nodes.set(node.id, node)
    this.#records = [...this.#nodes.values()]
    this.#stale = Array.isArray(stale) ? new Set(textsOf(stale)) : null
    this.#version = Number.isSafeInteger(version) && (version as number) > FIRST ? (version as number) : FIRST
    this.#isWhole = complete !== false || count === undefined || count === this.#nodes.size
  }
}

function textsOf(values: unknown): readonly string[] {
  return Array.isArray(values) ? values.filter(value => typeof value === 'string') : []
}
