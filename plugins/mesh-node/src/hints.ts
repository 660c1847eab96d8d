import {
  type CapabilityHints,
  capabilityHints,
  isInMaintenance,
  type NodeRecord,
  type RemoteNode
} from '@svc/contracts'
import { schemaCheck } from '@svc/plugin-sdk/check'
import { ORCHESTRATOR_CLASS } from './record.ts'

const CAPABILITY_FIELDS = Object.keys(capabilityHints.properties as object)
const checkCapabilities = schemaCheck(capabilityHints)

/** A node as the status shows it, and as routing uses it. */
export interface RoutingHint {
  readonly node_id: string
  readonly capabilities: CapabilityHints
  readonly labels: readonly string[]
  /** Labels that begin with `workload=` or `pool=`. */
  readonly training_labels: readonly string[]
  readonly maintenance: boolean
  readonly quarantined: boolean
  readonly heartbeat_stale: boolean
  readonly gpu_total_count?: number
  readonly gpu_healthy_count?: number
  readonly gpu_allocatable_count?: number
  readonly gpu_readiness_ok?: boolean
  readonly gpu_readiness_reason?: string
  readonly gpu_readiness_checked_unix_ms?: number
}

/** Whether a value of a node list has the fields without which it cannot be used. */
export function isNodeRecord(value: unknown): value is NodeRecord {
  const node = value as Partial<NodeRecord> | null
  return typeof node === 'object' && typeof node?.id === 'string' && node.id !== ''
}

/** Whether a node only holds leases of delegated tasks. */
export function isHolderOnly({ workload_classes: classes }: NodeRecord): boolean {
  return Array.isArray(classes) && classes.length === 1 && classes[0] === ORCHESTRATOR_CLASS
}

/** Whether a node was not seen for `staleMs`, which is 0 for none. `now`: Unix milliseconds of this machine. */
export function isStaleAt({ last_seen_unix_ms: seen }: NodeRecord, now: number, staleMs: number): boolean {
  return staleMs > 0 && now - (typeof seen === 'number' ? seen : 0) > staleMs
}

/** Returns what routing needs of a node. Values of a wrong type count as absent. `now`: Unix milliseconds. */
export function hintOf(node: NodeRecord, now: number, isStale: boolean): RoutingHint {
  const capabilities = capabilitiesOf(node.capabilities)
  const labels = capabilities.labels ?? []
  return {
    node_id: node.id,
    capabilities,
    labels,
    training_labels: labels.filter(label => label.startsWith('workload=') || label.startsWith('pool=')),
    maintenance: isInMaintenance(node, now),
    quarantined: node.quarantined === true,
    heartbeat_stale: isStale,
    ...numbers(node, [
      'gpu_total_count',
      'gpu_healthy_count',
      'gpu_allocatable_count',
      'gpu_readiness_checked_unix_ms'
    ]),
    ...(typeof node.gpu_readiness_ok === 'boolean' ? { gpu_readiness_ok: node.gpu_readiness_ok } : null),
    ...(typeof node.gpu_readiness_reason === 'string' ? { gpu_readiness_reason: node.gpu_readiness_reason } : null)
  }
}

/** Returns the node for the orchestrator's routing. */
export function remoteNodeOf(hint: RoutingHint): RemoteNode {
  const { node_id, capabilities, labels, maintenance, quarantined, heartbeat_stale } = hint
  return { node_id, capabilities, labels, has_gpu: hasReadyGpu(hint), maintenance, quarantined, heartbeat_stale }
}

/** Whether a node has a GPU that is not known to be unready. */
export function hasReadyGpu(hint: Pick<RoutingHint, 'capabilities' | 'gpu_allocatable_count' | 'gpu_readiness_ok'>) {
  return isGpuCapable(hint) && hint.gpu_readiness_ok !== false
}

/** Whether a node has a GPU. */
export function isGpuCapable({
  capabilities,
  gpu_allocatable_count: count = 0
}: Pick<RoutingHint, 'capabilities' | 'gpu_allocatable_count'>): boolean {
  const { gpu_cuda, gpu_metal, gpu_vulkan, gpu_webgpu } = capabilities
  return [gpu_cuda, gpu_metal, gpu_vulkan, gpu_webgpu].includes(true) || count > 0
}

/** Returns the known capabilities; a field with a wrong value is left out. */
function capabilitiesOf(value: unknown): CapabilityHints {
  if (typeof value !== 'object' || value === null) return {}
  const found = value as Readonly<Record<string, unknown>>
  const known = Object.fromEntries(
    CAPABILITY_FIELDS.flatMap(field => (found[field] === undefined ? [] : [[field, found[field]]]))
  )
  if (checkCapabilities(known).ok) return known
  return Object.fromEntries(Object.entries(known).filter(([field, each]) => checkCapabilities({ [field]: each }).ok))
}

function numbers<K extends keyof NodeRecord & string>(node: NodeRecord, fields: readonly K[]): { [F in K]?: number } {
  return Object.fromEntries(
    fields.flatMap(field => (typeof node[field] === 'number' ? [[field, node[field] as number]] : []))
  ) as { [F in K]?: number }
}
