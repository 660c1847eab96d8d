import {
  CallBatches,
  type CoordinationNodes,
  coordinationChecks as check,
  MAX_ITEM_BODY_BYTES,
  type NodeFlags,
  type NodeList,
  type StoredNode
} from '@svc/contracts'
import type { Connections, Statement } from './connections.ts'
import { hadNoEffect } from './database-errors.ts'
import { statements } from './statements.ts'

type Row = Readonly<Record<string, unknown>>

/** Nodes that one call finds: a record has at most a few megabytes. */
const MAX_FOUND = 100

/** Name of a node. */
type Named = readonly [scope: string, id: string]

/** Nodes of a mesh. Sightings of one turn of the event loop become one call of the database, and so do searches. */
export class Nodes implements CoordinationNodes {
  readonly #connections: Connections
  readonly #sightings: CallBatches<Named, StoredNode | null>
  readonly #searches: CallBatches<Named, StoredNode | null>

  constructor(connections: Connections) {
    this.#connections = connections
    this.#sightings = new CallBatches({
      run: names => this.#read(statements.seen, names),
      maxWeight: MAX_FOUND,
      hadNoEffect
    })
    this.#searches = new CallBatches({
      run: names => this.#read(statements.nodesFind, names),
      maxWeight: MAX_FOUND,
      hadNoEffect
    })
  }

  async put(scope: string, id: string, record: string, expected: number | null): Promise<StoredNode | null> {
    check.name('nodes.put: scope', scope)
    check.name('nodes.put: id', id)
    check.text('nodes.put: record', record, MAX_ITEM_BODY_BYTES)
    if (expected !== null) check.fence('nodes.put: expected', expected)
    const [row] = await this.#connections.call(statements.nodePut, [scope, id, record, expected])
    return row === undefined ? null : toNode(row)
  }

  async seen(scope: string, ids: readonly string[]): Promise<readonly string[]> {
    check.name('nodes.seen: scope', scope)
    check.batch('nodes.seen: ids', ids)
    for (const [index, id] of ids.entries()) check.name(`nodes.seen: ids[${index}]`, id)
    const distinct = [...new Set(ids)]
    const nodes = await this.#sightings.call(distinct.map(id => [scope, id] as const))
    return distinct.filter((_, index) => nodes[index] !== null)
  }

  async see(scope: string, id: string): Promise<StoredNode | null> {
    check.name('nodes.see: scope', scope)
    check.name('nodes.see: id', id)
    const [node = null] = await this.#sightings.call([[scope, id]])
    return node
  }

  async flag(scope: string, id: string, flags: NodeFlags): Promise<boolean> {
    check.name('nodes.flag: scope', scope)
    check.name('nodes.flag: id', id)
    check.flags('nodes.flag: flags', flags)
    const { quarantined = null, maintenance = null, maintenanceUntil } = flags
    const values = [scope, id, quarantined, maintenance, maintenanceUntil !== undefined, maintenanceUntil ?? null]
    return (await this.#connections.call(statements.nodeFlag, values))[0]?.done as boolean
  }

  async remove(scope: string, id: string): Promise<boolean> {
    check.name('nodes.remove: scope', scope)
    check.name('nodes.remove: id', id)
    return (await this.#connections.call(statements.nodeRemove, [scope, id]))[0]?.done as boolean
  }

  async find(scope: string, id: string): Promise<StoredNode | null> {
    check.name('nodes.find: scope', scope)
    check.name('nodes.find: id', id)
    const [node = null] = await this.#searches.call([[scope, id]])
    return node
  }

  async list(scope: string, since?: number): Promise<NodeList> {
    check.name('nodes.list: scope', scope)
    if (since !== undefined) check.fence('nodes.list: since', since)
    const [state, ...rows] = await this.#connections.call(statements.nodes, [scope, since ?? null])
    return {
      version: state?.version as number,
      complete: state?.complete as boolean,
      nodes: rows.filter(({ removed }) => removed === false).map(toNode),
      removed: rows.filter(({ removed }) => removed === true).map(({ id }) => id as string)
    }
  }

  /** Runs a statement of names, which returns the nodes that exist. */
  async #read(statement: Statement, names: readonly Named[]): Promise<readonly (StoredNode | null)[]> {
    const rows = await this.#connections.call(statement, [names.map(([scope]) => scope), names.map(([, id]) => id)])
    const found: (StoredNode | null)[] = names.map(() => null)
    for (const row of rows) found[row.request as number] = toNode(row)
    return found
  }
}

function toNode(row: Row): StoredNode {
  const maintenance = row.maintenance as boolean
  return {
    id: row.id as string,
    record: row.record as string,
    version: row.version as number,
    quarantined: row.quarantined as boolean,
    maintenance,
    maintenanceUntil: maintenance ? (row.maintenance_until as number | null) : null,
    seenAt: row.seen_at as number
  }
}
