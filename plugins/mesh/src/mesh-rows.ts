import { type ExecLease, isInMaintenance, type NodeRecord } from '@svc/contracts'
import { defined, type Infer, t } from '@svc/plugin-sdk'
import { counted } from './status-text.ts'

export const NODE_STATES = ['ready', 'stale', 'idle', 'maintenance', 'quarantined'] as const
export type NodeState = (typeof NODE_STATES)[number]

const MAX_TEXT = 256
const MAX_WORDS = 64
/** Range of a JavaScript date in Unix milliseconds. */
const MAX_DATE_MS = 8.64e15

const unixMs = (description: string) => t.integer({ description: `${description}, in Unix milliseconds.` })

export const nodeRow = t.object({
  id: t.string(),
  state: t.enum(NODE_STATES, {
    description:
      'ready: takes work. stale: was not seen for too long. idle: the same of an orchestrator that holds no lease.'
  }),
  own: t.boolean({ description: 'True for this machine.' }),
  seen_unix_ms: unixMs('Last sign of life, by the clock of the store'),
  version: t.string(),
  host: t.optional(t.string()),
  kinds: t.array(t.string(), { description: 'Kinds of work; orchestrator: only holds leases of delegated tasks.' }),
  labels: t.array(t.string()),
  gpu: t.enum(['ready', 'not ready', 'unknown', 'none'], { description: 'unknown: the node does not probe its GPUs.' }),
  gpu_detail: t.optional(t.string({ description: 'Number of graphics cards, and why they are not ready.' })),
  models: t.array(t.string(), { description: 'Models that the node serves now.' }),
  cpu_usage: t.optional(t.number({ description: 'Processor use from 0 to 1.' })),
  memory_free_bytes: t.optional(t.integer()),
  leases: t.optional(t.integer({ description: 'Exec leases that the node holds; absent if they cannot be listed.' })),
  maintenance: t.boolean(),
  maintenance_until_unix_ms: t.optional(unixMs('End of the maintenance')),
  quarantined: t.boolean()
})
export type NodeRow = Infer<typeof nodeRow>

export const leaseRow = t.object({
  lease_id: t.string({ description: 'Fence of the lease, in decimal.' }),
  scope_key: t.string({ description: 'What is leased, for example task:REPOSITORY:42.' }),
  holder_node_id: t.string(),
  holder_state: t.enum([...NODE_STATES, 'missing'] as const, {
    description: 'State of the holder; missing: it has left the mesh.'
  }),
  expires_unix_ms: unixMs('End of the lease, unless the holder renews it'),
  expires: t.optional(t.string({ description: 'The same as an ISO 8601 text.' }))
})
export type LeaseRow = Infer<typeof leaseRow>

/** Whether a value of a node list has an id. Other fields may have any type: another program may have sent them. */
export function isNodeRecord(value: unknown): value is NodeRecord {
  const id = (value as Partial<NodeRecord> | null)?.id
  return typeof id === 'string' && id !== ''
}

export interface RowContext {
  readonly ownId: string
  /** Ids of nodes that were not seen for too long. */
  readonly stale: ReadonlySet<string>
  /** Number of leases by holder; null if they cannot be listed. */
  readonly leases: ReadonlyMap<string, number> | null
  /** Unix milliseconds. */
  readonly now: number
}

/** Returns the row of a node. Values of a wrong type count as absent. */
export function nodeRowOf(node: NodeRecord, { ownId, stale, leases, now }: RowContext): NodeRow {
  const { id, capabilities } = node
  const quarantined = node.quarantined === true
  const maintenance = isInMaintenance(node, now)
  const cpu = numberOf(node.cpu_usage_pct)
  const kinds = wordsOf(node.workload_classes)
  const held = leases?.get(id) ?? 0
  const silent = isHolderOnly({ kinds }) && held === 0 ? 'idle' : 'stale'
  const until = maintenance ? dateOf(node.maintenance_until_unix_ms) : undefined
  return defined({
    id: textOf(id) ?? '',
    state: quarantined ? 'quarantined' : maintenance ? 'maintenance' : stale.has(id) ? silent : 'ready',
    own: id === ownId,
    seen_unix_ms: Math.floor(dateOf(node.last_seen_unix_ms) ?? 0),
    version: textOf(node.version) ?? '',
    host: textOf(capabilities?.hostname),
    kinds,
    labels: wordsOf(capabilities?.labels),
    ...gpuOf(node),
    models: wordsOf(node.loaded_llm_models),
    cpu_usage: cpu === undefined ? undefined : cpu / 100,
    memory_free_bytes: integerOf(node.memory_free_bytes),
    leases: leases === null ? undefined : held,
    maintenance,
    maintenance_until_unix_ms: until === undefined ? undefined : Math.floor(until),
    quarantined
  }) as NodeRow
}

/** Whether a node only holds leases of delegated tasks. It takes no work, and is silent while it holds none. */
export function isHolderOnly({ kinds }: Pick<NodeRow, 'kinds'>): boolean {
  return kinds.length === 1 && kinds[0] === 'orchestrator'
}

export function leaseRowOf(lease: ExecLease, states: ReadonlyMap<string, NodeState>): LeaseRow {
  const { lease_id, scope_key, holder_node_id, expires_unix_ms } = lease
  const expires = dateOf(expires_unix_ms)
  return defined({
    lease_id: String(lease_id),
    scope_key: textOf(scope_key) ?? '',
    holder_node_id: textOf(holder_node_id) ?? '',
    holder_state: states.get(holder_node_id) ?? 'missing',
    expires_unix_ms: Math.floor(expires ?? 0),
    expires: expires === undefined ? undefined : new Date(expires).toISOString()
  }) as LeaseRow
}

function gpuOf(node: NodeRecord): Pick<NodeRow, 'gpu' | 'gpu_detail'> {
  const { capabilities, gpu_readiness_ok: ok } = node
  const total = integerOf(node.gpu_total_count) ?? 0
  const has = total > 0 || [capabilities?.gpu_cuda, capabilities?.gpu_metal, capabilities?.gpu_vulkan].includes(true)
  if (!has) return { gpu: 'none' }
  const healthy = integerOf(node.gpu_healthy_count)
  const count =
    total === 0 ? undefined : healthy === undefined ? counted(total, 'card') : `${healthy} of ${total} healthy`
  const reason = ok === false ? textOf(node.gpu_readiness_reason) : undefined
  const detail = [count, reason].filter(each => each !== undefined).join(', ')
  const gpu = ok === true ? 'ready' : ok === false ? 'not ready' : 'unknown'
  return detail === '' ? { gpu } : { gpu, gpu_detail: detail }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT) : undefined
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** Returns Unix milliseconds that a date can have: pages cannot show others. */
function dateOf(value: unknown): number | undefined {
  const time = numberOf(value)
  return time === undefined || Math.abs(time) > MAX_DATE_MS ? undefined : time
}

function integerOf(value: unknown): number | undefined {
  const number = numberOf(value)
  return number === undefined ? undefined : Math.floor(number)
}

function wordsOf(value: unknown): string[] {
  if (!Array.isArray(value)) return []
  return value.flatMap(each => textOf(each) ?? []).slice(0, MAX_WORDS)
}
