import type { Coordination, NodeFlags, NodeRecord, NodeReport, StoredNode } from '@svc/contracts'
import type { RecordLimit } from './record-limit.ts'
import { refuse } from './refusal.ts'
import type { MeshScope } from './scope.ts'

/** Nodes whose last known version is kept. */
const MAX_KNOWN = 10_000
/** Attempts to store a record while other control planes store the same node. */
const MAX_ATTEMPTS = 20

/** Fields of a record that the server decides. */
type Decided = 'last_seen_unix_ms' | 'quarantined' | 'maintenance' | 'maintenance_until_unix_ms'

export interface NodeRegistryOptions {
  readonly store: () => Coordination
  readonly scope: MeshScope
  readonly limit: RecordLimit
  /** Called after a change, except that of the time at which a node was seen. */
  readonly onChange: () => void
}

/** Nodes of one scope. */
export class NodeRegistry {
  readonly #store: () => Coordination
  readonly #scope: MeshScope
  readonly #limit: RecordLimit
  readonly #onChange: () => void
  /** Last write of each node that is under way here. Writes of one node run one after the other. */
  readonly #writes = new Map<string, Promise<unknown>>()
  /**
   * Last known version of nodes. Each use names the version in the call of the store, which refuses it after a change by
   * any control plane.
   */
  readonly #known = new Map<string, StoredNode>()

  constructor({ store, scope, limit, onChange }: NodeRegistryOptions) {
    this.#store = store
    this.#scope = scope
    this.#limit = limit
    this.#onChange = onChange
  }

  /**
   * Stores a node that joins. Quarantine and maintenance of a known node stay. Throws `MSC_FORBIDDEN` for another scope,
   * `MSC_BODY_TOO_LARGE` for a record that is too large, and `MSC_UNAVAILABLE` if the mesh has too many nodes.
   */
  async join(report: NodeReport): Promise<NodeRecord> {
    return this.#inTurn(report.id, () => this.#upsert(report, () => ownFields(report)))
  }

  /** Merges the fields of a heartbeat into the record; an unknown node is added. Throws as `join`. */
  async heartbeat(report: NodeReport): Promise<NodeRecord> {
    const merged = (known: StoredNode | null) => ({ ...(known === null ? null : parse(known)), ...ownFields(report) })
    return this.#inTurn(report.id, () => this.#upsert(report, merged, { setsMaintenance: true }))
  }

  /** Returns whether the node existed. */
  async leave(id: string): Promise<boolean> {
    const existed = await this.#store().nodes.remove(this.#scope.stored, id)
    this.forget(id)
    this.#onChange()
    return existed
  }

  find(id: string): Promise<StoredNode | null> {
    return this.#store().nodes.find(this.#scope.stored, id)
  }

  /**
   * Returns the node as this process knows it, of any age, or as the store has it now. Throws `MSC_FORBIDDEN` unless it
   * has joined. The caller names its version in the call that depends on it, and calls `forget` if that is refused.
   */
  async recall(id: string): Promise<StoredNode> {
    return this.#known.get(id) ?? (await this.requireJoined(id))
  }

  /** Makes the next `recall` read the node. */
  forget(id: string): void {
    this.#known.delete(id)
  }

  /** Throws `MSC_FORBIDDEN` unless the node has joined. */
  async requireJoined(id: string): Promise<StoredNode> {
    const node = await this.find(id)
    if (node === null) throw refuse('MSC_FORBIDDEN', 'the claimer node has not joined')
    this.#remember(node)
    return node
  }

  /** Throws `MSC_FORBIDDEN` unless the node has joined, and is neither in quarantine nor in maintenance. */
  async requireActive(id: string): Promise<StoredNode> {
    const node = await this.requireJoined(id)
    if (node.quarantined) throw refuse('MSC_FORBIDDEN', 'the claimer node is in quarantine')
    if (node.maintenance) throw refuse('MSC_FORBIDDEN', 'the claimer node is in maintenance')
    return node
  }

  /** Throws `MSC_NOT_FOUND`. */
  async flag(id: string, flags: NodeFlags): Promise<void> {
    const exists = await this.#store().nodes.flag(this.#scope.stored, id, flags)
    this.forget(id)
    this.#onChange()
    if (!exists) throw refuse('MSC_NOT_FOUND', 'there is no such node')
  }

  async #inTurn<A>(id: string, write: () => Promise<A>): Promise<A> {
    const before = this.#writes.get(id) ?? Promise.resolve()
    const own = before.then(write, write)
    this.#writes.set(id, own)
    try {
      return await own
    } finally {
      if (this.#writes.get(id) === own) this.#writes.delete(id)
    }
  }

  async #upsert(
    report: NodeReport,
    recordOf: (known: StoredNode | null) => Readonly<Record<string, unknown>>,
    options: { readonly setsMaintenance?: boolean } = {}
  ): Promise<NodeRecord> {
    const { id, scope_id } = report
    const scope = this.#scope.id
    if (scope !== null && scope_id !== scope) throw refuse('MSC_FORBIDDEN', 'the node belongs to another scope')
    const { nodes } = this.#store()
    let recalled = this.#known.get(id)
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const known = recalled ?? (await this.find(id))
      recalled = undefined
      const record = JSON.stringify(recordOf(known))
      await this.#limit.assertRoom(record, known?.record ?? null)
      const isSame = known?.record === record
      const stored = isSame
        ? await nodes.see(this.#scope.stored, id)
        : await this.#put(id, record, known?.version ?? null)
      if (stored === null) continue
      this.#remember(stored)
      // Another control plane stored another record meanwhile.
      if (isSame && stored.record !== record) continue
      const sets = report.maintenance !== undefined && (known === null || options.setsMaintenance === true)
      const flags = sets ? maintenanceOf(report) : null
      if (flags === null || isFlagged(stored, flags)) return wireRecord(stored)
      await nodes.flag(this.#scope.stored, id, flags)
      this.forget(id)
      this.#onChange()
      return wireRecord((await this.find(id)) ?? stored)
    }
    throw refuse('MSC_UNAVAILABLE', 'too many changes of the same node at once; try again', 1_000)
  }

  /** Keeps the version of a node that may take work: only these claim often. */
  #remember(node: StoredNode): void {
    this.#known.delete(node.id)
    if (node.quarantined || node.maintenance) return
    if (this.#known.size >= MAX_KNOWN) this.#known.delete(this.#known.keys().next().value as string)
    this.#known.set(node.id, node)
  }

  async #put(id: string, record: string, expected: number | null): Promise<StoredNode | null> {
    const stored = await this.#store().nodes.put(this.#scope.stored, id, record, expected)
    this.#onChange()
    return stored
  }
}

/** Returns a node as the wire has it: the record with what the server decides. */
function wireRecord(node: StoredNode): NodeRecord {
  return { ...parse(node), ...decidedFields(node) }
}

/** Like {@link wireRecord}, as JSON text, without parsing the record. */
export function nodeJson(node: StoredNode): string {
  return `${node.record.slice(0, -1)},${JSON.stringify(decidedFields(node)).slice(1)}`
}

function decidedFields({ seenAt, quarantined, maintenance, maintenanceUntil }: StoredNode): Pick<NodeRecord, Decided> {
  return {
    last_seen_unix_ms: Math.floor(seenAt),
    ...(quarantined ? { quarantined } : null),
    ...(maintenance ? { maintenance } : null),
    ...(maintenance && maintenanceUntil !== null ? { maintenance_until_unix_ms: maintenanceUntil } : null)
  }
}

/** Parses a stored record. Only this plugin writes records, so the text is JSON of a record. */
export function parse({ record }: StoredNode): NodeRecord {
  return JSON.parse(record) as NodeRecord
}

/** Returns the fields of a report that are stored, in the order of their names so that equal records have equal text. */
function ownFields(report: NodeReport): Record<string, unknown> {
  const decided: readonly string[] = [
    'last_seen_unix_ms',
    'quarantined',
    'maintenance',
    'maintenance_until_unix_ms'
  ] satisfies Decided[]
  // Absent fields are left out on the wire, so null means absent.
  const fields = Object.entries(report).filter(([key, value]) => !decided.includes(key) && value !== null)
  return Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function maintenanceOf({ maintenance, maintenance_until_unix_ms: until }: NodeReport): NodeFlags {
  return maintenance === true
    ? { maintenance: true, maintenanceUntil: until ?? null }
    : { maintenance: false, maintenanceUntil: null }
}

function isFlagged(node: StoredNode, flags: NodeFlags): boolean {
  return (
    node.maintenance === flags.maintenance && (!node.maintenance || node.maintenanceUntil === flags.maintenanceUntil)
  )
}
