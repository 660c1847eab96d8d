import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { isInMaintenance, type MeshPolicy, type NodeRecord, type Orchestrator } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import type { MeshClient } from './client.ts'
import { hintOf, isHolderOnly, type RoutingHint, remoteNodeOf } from './hints.ts'
import { KnownNodes } from './known-nodes.ts'

/** Name of this plugin's nodes among those of all sources. */
export const NODE_SOURCE = 'mesh'
/** Nodes that are converted at a time, so that a large list does not hold the event loop. */
const SLICE = 500

export interface NodesPollOptions {
  readonly client: MeshClient
  readonly orchestrator: Pick<Orchestrator, 'remote'>
  readonly policy: () => Pick<MeshPolicy, 'stale_threshold_ms'>
  /** Ids of this process, which is no remote node. */
  readonly own: ReadonlySet<string>
  readonly log: Logger
  readonly now?: () => number
}

/** Result of the last poll. */
export interface PolledNodes {
  /** Unix milliseconds. */
  readonly polled_unix_ms: number
  readonly hints: readonly RoutingHint[]
  /** Schedulable nodes before and after this poll. */
  readonly schedulable_before: number
  readonly schedulable_after: number
  /** Why the poll failed, which cleared the hints; null after a success. */
  readonly error: string | null
}

/**
 * Reads the nodes of the mesh and passes them to the orchestrator, which handles a drop of schedulable nodes. After the
 * first poll, only changes are read.
 */
export class NodesPoll {
  readonly #options: NodesPollOptions
  readonly #known = new KnownNodes()
  /** Hint of each record, which is computed again only if it would differ. */
  #hints: WeakMap<NodeRecord, RoutingHint> = new WeakMap()
  #last: PolledNodes | null = null

  constructor(options: NodesPollOptions) {
    this.#options = options
  }

  /** Result of the last poll; null before the first one. */
  get last(): PolledNodes | null {
    return this.#last
  }

  /** Records of the last successful poll. Empty after a failure. */
  get nodes(): readonly NodeRecord[] {
    return this.#known.records
  }

  /** Whether a node was not seen for the configured time, at the last successful poll. */
  isStale(node: NodeRecord): boolean {
    const { policy, now = Date.now } = this.#options
    return this.#known.isStale(node, now(), policy().stale_threshold_ms)
  }

  /** Rejects if the nodes could not be read; the hints are then cleared. */
  async poll(signal: AbortSignal): Promise<void> {
    const { client, policy } = this.#options
    let hints: readonly RoutingHint[]
    try {
      await this.#known.read(client, policy().stale_threshold_ms, signal)
      hints = await this.#current()
    } catch (error) {
      if (signal.aborted) throw error
      this.#known.clear()
      this.#set([], errorMessage(error))
      throw error
    }
    this.#set(hints, null)
  }

  /** Removes this plugin's nodes from the orchestrator. */
  clear(): void {
    this.#known.clear()
    this.#last = null
    this.#options.orchestrator.remote.setNodes(NODE_SOURCE, [])
  }

  async #current(): Promise<readonly RoutingHint[]> {
    const { own } = this.#options
    const remote = this.#known.records.filter(node => !own.has(node.id) && !isHolderOnly(node))
    const hints: RoutingHint[] = []
    for (let from = 0; from < remote.length; from += SLICE) {
      if (from > 0) await yieldToOthers()
      for (const node of remote.slice(from, from + SLICE)) hints.push(this.#hintOf(node))
    }
    return hints
  }

  #hintOf(node: NodeRecord): RoutingHint {
    const { now = Date.now } = this.#options
    const stale = this.isStale(node)
    const known = this.#hints.get(node)
    if (known?.heartbeat_stale === stale && known.maintenance === isInMaintenance(node, now())) return known
    const hint = hintOf(node, now(), stale)
    this.#hints.set(node, hint)
    return hint
  }

  #set(hints: readonly RoutingHint[], error: string | null): void {
    const { orchestrator, now = Date.now } = this.#options
    const { before, after } = orchestrator.remote.setNodes(NODE_SOURCE, hints.map(remoteNodeOf))
    this.#last = { polled_unix_ms: now(), hints, schedulable_before: before, schedulable_after: after, error }
    if (before !== after) this.#options.log.debug('the schedulable nodes of the mesh changed', { before, after })
  }
}
