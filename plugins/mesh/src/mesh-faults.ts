import type { PlaneProbe } from './control-client.ts'
import type { MeshReading } from './mesh-reading.ts'
import { isHolderOnly, type LeaseRow, type NodeRow } from './mesh-rows.ts'

export interface MeshFault {
  readonly key: string
  readonly severity: 'error' | 'warning'
  /** URL of a control plane, id of a node, or id of a lease. */
  readonly subject: string
  readonly fault: string
  readonly next_step: string
}

/** Returns what is wrong in a mesh, errors first. */
export function faultsOf({ planes, nodes, error, leases }: MeshReading): MeshFault[] {
  const ofPlanes = planes.flatMap(planeFault)
  const others: MeshFault[] = []
  // If no control plane responds, its faults are those of the planes.
  if (error !== null && planes.some(({ state }) => state === 'ready'))
    others.push({
      key: 'nodes',
      severity: 'error',
      subject: 'nodes',
      fault: error.message,
      next_step: error.hint ?? 'check the control planes'
    })
  return [...ofPlanes, ...others, ...nodes.flatMap(nodeFaults), ...(error === null ? leases.flatMap(leaseFault) : [])]
}

const PLANE_STEPS: Readonly<Record<Exclude<PlaneProbe['state'], 'ready'>, string>> = {
  unreachable: 'start svc mesh serve there, or correct the URL in [mesh] control_url',
  degraded: 'check its store: the database file, or the server in [coordination] url',
  invalid: 'correct the URL: it must be that of a control plane, such as http://10.0.0.5:9847'
}

function planeFault({ url, state, detail }: PlaneProbe): MeshFault[] {
  if (state === 'ready') return []
  const fault = `${state}: ${detail ?? 'no reason was given'}`
  return [{ key: `plane ${url}`, severity: 'error', subject: url, fault, next_step: PLANE_STEPS[state] }]
}

function nodeFaults(node: NodeRow): MeshFault[] {
  const { id, state, gpu, gpu_detail } = node
  const faults: MeshFault[] = []
  // The leases of a silent orchestrator are faults themselves.
  if (state === 'stale' && !isHolderOnly(node))
    faults.push({
      key: `stale ${id}`,
      severity: 'warning',
      subject: id,
      fault: 'the node sends no heartbeats, and gets no work',
      next_step: 'start svc serve on it; if it is gone, plugins.mesh-control.server_stale_prune_ms hides old nodes'
    })
  if (gpu === 'not ready')
    faults.push({
      key: `gpu ${id}`,
      severity: 'warning',
      subject: id,
      fault: `its graphics cards are not ready${gpu_detail === undefined ? '' : `: ${gpu_detail}`}`,
      next_step: 'run nvidia-smi on it'
    })
  return faults
}

const HOLDERS: Readonly<Partial<Record<LeaseRow['holder_state'], string>>> = {
  missing: 'has left the mesh',
  stale: 'sends no heartbeats',
  quarantined: 'is in quarantine',
  maintenance: 'is in maintenance, and cannot renew it'
}

function leaseFault({ lease_id, scope_key, holder_node_id, holder_state }: LeaseRow): MeshFault[] {
  const why = HOLDERS[holder_state]
  if (why === undefined) return []
  return [
    {
      key: `lease ${lease_id}`,
      severity: 'warning',
      subject: lease_id,
      fault: `the holder ${holder_node_id} of ${scope_key} ${why}`,
      next_step: `wait until it expires, or: svc mesh admin exec-lease-revoke ${lease_id}`
    }
  ]
}
