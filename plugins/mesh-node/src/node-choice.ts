import type { NodeRecord } from '@svc/contracts'
import { meshNodeErrors } from './errors.ts'
import { hintOf, isHolderOnly, isNodeRecord, isStaleAt, type RoutingHint } from './hints.ts'

/** Nodes that an error lists. */
const MAX_LISTED = 8

/** Node that gets a job. */
export interface NodeChoice {
  /** Inbox to which the job is delivered. */
  readonly receiver: string
  /** Null: any node that reads the inbox. */
  readonly node: string | null
}

/** Why a node does not get a job. */
export interface UnfitNode {
  readonly id: string
  readonly labels: readonly string[]
  /** Null: it lacks labels. */
  readonly why: string | null
}

export interface ChoiceOptions {
  readonly labels: readonly string[]
  /** Inbox that all workers read. */
  readonly shared: string
  /** Id of this node. */
  readonly own: string
  /** Unix milliseconds. */
  readonly now: number
  /** Age of a stale heartbeat in milliseconds; 0 for none. */
  readonly staleMs: number
  /** In [0, 1). */
  readonly random: number
}

/**
 * Chooses one of the nodes that run work and have all labels. Without labels, any worker may take the job from the shared
 * inbox. Throws `MND_NO_NODE`, which lists the nodes and what they lack.
 */
export function chooseNode(nodes: readonly unknown[], options: ChoiceOptions): NodeChoice {
  const { labels, shared, own, now, staleMs, random } = options
  const fit: NodeChoice[] = []
  const unfit: UnfitNode[] = []
  for (const node of nodes) {
    if (!isNodeRecord(node) || isHolderOnly(node)) continue
    const hint = hintOf(node, now, isStaleAt(node, now, staleMs))
    const receiver = inboxOf(node)
    const why =
      unavailable(hint) ?? (receiver === null && (labels.length > 0 || node.id === own) ? 'runs no work' : null)
    if (why === null && labels.every(label => hint.labels.includes(label)))
      fit.push(
        labels.length === 0 || receiver === null ? { receiver: shared, node: null } : { receiver, node: node.id }
      )
    else unfit.push({ id: node.id, labels: hint.labels, why })
  }
  const chosen = fit[Math.floor(random * fit.length)]
  if (chosen !== undefined) return chosen
  throw noNode(labels, unfit, null)
}

/** Returns an `MND_NO_NODE` error. */
export function noNode(labels: readonly string[], unfit: readonly UnfitNode[], reason: string | null): Error {
  const wanted = labels.length === 0 ? 'runs work' : `that runs work has all of the labels ${labels.join(', ')}`
  const listed = unfit.slice(0, MAX_LISTED).map(({ id, labels, why }) => {
    const has = labels.length === 0 ? 'no labels' : labels.join(', ')
    return `${id} has ${has}${why === null ? '' : ` and ${why}`}`
  })
  if (unfit.length > MAX_LISTED) listed.push(`${unfit.length - MAX_LISTED} more`)
  const found = listed.length === 0 ? 'the mesh has no nodes' : listed.join('; ')
  return meshNodeErrors.create('MND_NO_NODE', `no node ${wanted}: ${reason === null ? '' : `${reason}; `}${found}`, {
    data: { labels },
    hint: 'svc mesh status shows the nodes with their labels; set SVC_MESH_LABELS on one of them'
  })
}

function unavailable({ maintenance, quarantined, heartbeat_stale }: RoutingHint): string | null {
  if (quarantined) return 'is quarantined'
  if (maintenance) return 'is in maintenance'
  return heartbeat_stale ? 'sends no heartbeats' : null
}

/** Returns the mailbox of a node that runs work; null for another one. */
export function inboxOf({ inbox_agent_id: inbox }: NodeRecord): string | null {
  return typeof inbox === 'string' && /^[0-9]{1,20}$/.test(inbox) ? inbox : null
}
