import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { MeshPolicy, NodeListWire, NodeRecord, Orchestrator } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import type { MeshClient } from './client.ts'
import { hintOf, isHolderOnly, isNodeRecord, type RoutingHint, remoteNodeOf } from './hints.ts'

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

/** Reads the nodes of the mesh and passes them to the orchestrator, which handles a drop of schedulable nodes. */
export class NodesPoll {
  readonly #options: NodesPollOptions
  #etag: string | null = null
  #nodes: readonly NodeRecord[] = []
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
    return this.#nodes
  }

  /** Rejects if the nodes could not be read; the hints are then cleared. */
  async poll(signal: AbortSignal): Promise<void> {
    let hints: readonly RoutingHint[]
    try {
      const { list, etag } = await this.#options.client.nodes(this.#etag, signal)
      if (list !== null) this.#nodes = recordsOf(list)
      this.#etag = etag
      hints = await this.#hints()
    } catch (error) {
      if (signal.aborted) throw error
      this.#etag = null
      this.#nodes = []
      this.#set([], errorMessage(error))
      throw error
    }
    this.#set(hints, null)
  }

  /** Removes this plugin's nodes from the orchestrator. */
  clear(): void {
    this.#etag = null
    this.#nodes = []
    this.#last = null
    this.#options.orchestrator.remote.setNodes(NODE_SOURCE, [])
  }

  async #hints(): Promise<readonly RoutingHint[]> {
    const { own, policy, now = Date.now } = this.#options
    const remote = this.#nodes.filter(node => !own.has(node.id) && !isHolderOnly(node))
    const hints: RoutingHint[] = []
    for (let from = 0; from < remote.length; from += SLICE) {
      if (from > 0) await yieldToOthers()
      const { stale_threshold_ms: staleMs } = policy()
      for (const node of remote.slice(from, from + SLICE)) hints.push(hintOf(node, now(), staleMs))
    }
    return hints
  }

  #set(hints: readonly RoutingHint[], error: string | null): void {
    const { orchestrator, now = Date.now } = this.#options
    const { before, after } = orchestrator.remote.setNodes(NODE_SOURCE, hints.map(remoteNodeOf))
    this.#last = { polled_unix_ms: now(), hints, schedulable_before: before, schedulable_after: after, error }
    if (before !== after) this.#options.log.debug('the schedulable nodes of the mesh changed', { before, after })
  }
}

/** Returns the usable records of a list; one of each id. */
function recordsOf({ nodes }: NodeListWire): readonly NodeRecord[] {
  return [...new Map(nodes.filter(isNodeRecord).map(node => [node.id, node])).values()]
}
