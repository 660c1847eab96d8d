import type { InferenceServer, InferenceServerSource, NodeRecord } from '@svc/contracts'
import type { RoutingHint } from './hints.ts'
import { NODE_SOURCE, type NodesPoll } from './nodes-poll.ts'

/** Models of one node that are passed on. */
const MAX_MODELS = 256

/**
 * Model servers of the mesh, for the router: nodes that may receive work and advertise an address and loaded models. The
 * list is that of the last poll.
 */
export function modelServers(poll: Pick<NodesPoll, 'last' | 'nodes'>): InferenceServerSource {
  return {
    source: NODE_SOURCE,
    list() {
      const hints = new Map(poll.last?.hints.map(hint => [hint.node_id, hint]))
      return poll.nodes.flatMap(node => serverOf(node, hints.get(node.id)) ?? [])
    }
  }
}

function serverOf(node: NodeRecord, hint: RoutingHint | undefined): InferenceServer | null {
  const { listen_addr: address, loaded_llm_models: models } = node
  // A node without a hint is this process, or holds only leases.
  if (hint === undefined || hint.quarantined || hint.maintenance || hint.heartbeat_stale) return null
  if (!Array.isArray(models) || models.length === 0 || typeof address !== 'string') return null
  const url = baseUrl(address)
  const names = models.filter(name => typeof name === 'string').slice(0, MAX_MODELS)
  // Header values are printable ASCII.
  return url === null ? null : { name: node.id.replace(/[^\x21-\x7e]/g, '_'), url, api: 'svc', models: names }
}

/** Returns the base URL of an address; null if it is not an HTTP URL without credentials. */
function baseUrl(address: string): string | null {
  if (!URL.canParse(address)) return null
  const { protocol, username, password, origin, pathname } = new URL(address)
  if (!/^https?:$/.test(protocol) || username !== '' || password !== '') return null
  return `${origin}${pathname}`.replace(/\/+$/, '')
}
