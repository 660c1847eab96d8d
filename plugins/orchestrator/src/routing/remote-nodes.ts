/** Another machine of the mesh, as the router sees it. */
export interface RemoteNode {
  readonly node_id: string
  readonly labels: readonly string[]
  readonly has_gpu: boolean
  readonly maintenance: boolean
  readonly quarantined: boolean
  readonly heartbeat_stale: boolean
}

/** Returns true if tasks may be sent to a node. */
export function isSchedulable(node: RemoteNode): boolean {
  return !node.quarantined && !node.maintenance && !node.heartbeat_stale
}
