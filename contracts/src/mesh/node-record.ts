import { type Infer, t } from '@svc/plugin-sdk'

/** Maximum length of a node id, in characters. */
export const MAX_NODE_ID_CHARS = 256

const word = (description: string) => t.optional(t.string({ maxLength: 256, description }))
const count = (description: string) => t.optional(t.integer({ minimum: 0, description }))
const words = (description: string) => t.optional(t.array(t.string({ maxLength: 256 }), { maxItems: 256, description }))

/** Id of a node: text without control characters. */
export const meshNodeId = t.string({
  minLength: 1,
  maxLength: MAX_NODE_ID_CHARS,
  pattern: '^[^\\u0000-\\u001f\\u007f]+$',
  description: 'Id of a node, without control characters.'
})

/** Capabilities that a node advertises. An absent boolean means false. Unknown fields are kept. */
export const nodeCapabilities = t.object(
  {
    gpu_cuda: t.optional(t.boolean()),
    gpu_metal: t.optional(t.boolean()),
    gpu_vulkan: t.optional(t.boolean()),
    gpu_webgpu: t.optional(t.boolean()),
    npu: t.optional(t.boolean()),
    visus_eligible: t.optional(t.boolean()),
    multi_modal: t.optional(t.boolean()),
    device_class: word('Class of the device, for example desktop.'),
    min_vram_mb: count('Graphics memory in mebibytes.'),
    cpu_cores: count('Number of processor cores.'),
    arch: word('Processor architecture.'),
    hostname: word('Name of the host.'),
    labels: words('Labels; those that begin with workload= or pool= are used for training.'),
    min_cpu_cores: count('Number of processor cores that a task may require.'),
    prefer_gpu_compute: t.optional(t.boolean())
  },
  { additionalProperties: true, description: 'Capabilities of the host.' }
)

const fields = {
  id: meshNodeId,
  capabilities: nodeCapabilities,
  version: t.string({ maxLength: 256, description: 'Version of the program on the node.' }),
  listen_addr: word('Address at which the node serves, for example http://10.0.0.2:11435.'),
  scope_id: word('Tenant of the node.'),
  visibility: word('public or private; a public node does not receive private messages.'),
  pool_id: word('Pool of the node.'),
  trust_tier: word('new, trusted or degraded; a new node does not receive messages for trusted nodes only.'),
  workload_classes: words('Kinds of work that the node does.'),
  privacy_class: word('Privacy class of the node.'),
  maintenance: t.optional(t.boolean({ description: 'Whether the node takes no new work.' })),
  maintenance_until_unix_ms: count('End of the maintenance; absent: until it is switched off.'),
  provider: word('Provider of the machine.'),
  gpu_total_count: count('Graphics cards in the machine.'),
  gpu_healthy_count: count('Graphics cards that work.'),
  gpu_allocatable_count: count('Graphics cards that are free.'),
  gpu_inventory_source: word('How the graphics cards were found.'),
  gpu_truth_layer: word('Layer that reported the graphics cards.'),
  nvidia_driver_version: word('Version of the NVIDIA driver.'),
  cuda_driver_version: word('Version of CUDA that the driver supports.'),
  gpu_readiness_ok: t.optional(t.boolean({ description: 'Whether the graphics cards can be used.' })),
  gpu_readiness_reason: word('Reason for gpu_readiness_ok.'),
  gpu_readiness_checked_unix_ms: count('Time of the readiness check.'),
  quarantined: t.optional(t.boolean({ description: 'Whether an administrator excluded the node.' })),
  host_triple: word('Target triple of the host.'),
  cpu_usage_pct: t.optional(t.number({ minimum: 0, description: 'Processor use in percent.' })),
  memory_free_bytes: count('Free memory in bytes.'),
  loaded_llm_models: words('Models that the node serves now.'),
  advertised_models: words('Models that the node can serve.')
}

/** A node of a mesh on the wire. Unknown fields are kept. Absent fields are left out, never null. */
export const nodeRecord = t.object(
  {
    ...fields,
    last_seen_unix_ms: t.integer({ minimum: 0, description: 'Time of the last sign of life, set by the server.' })
  },
  { additionalProperties: true, description: 'A node of a mesh.' }
)

/** A node that joins, or its heartbeat. The server ignores `last_seen_unix_ms` and `quarantined`. */
export const nodeReport = t.object(
  {
    ...fields,
    last_seen_unix_ms: t.optional(t.integer({ minimum: 0, description: 'Ignored: the server sets the time.' }))
  },
  { additionalProperties: true, description: 'A node that joins, or its heartbeat.' }
)

/** A record with its unknown fields, which are kept. */
export type NodeRecord = Infer<typeof nodeRecord> & { readonly [field: string]: unknown }
export type NodeReport = Infer<typeof nodeReport> & { readonly [field: string]: unknown }
export type NodeCapabilities = Infer<typeof nodeCapabilities>

/** Answer of `GET nodes`. `version` and what depends on `?since=` are extensions. */
export interface NodeListWire {
  readonly schema_version: 1
  readonly nodes: readonly NodeRecord[]
  /** Unacknowledged messages of the scope. */
  readonly queue_depth?: number
  /** Version of the list, for `?since=`. */
  readonly version?: number
  /** False: `nodes` and `removed` are only the changes after the version in `?since=`. Absent without `?since=`. */
  readonly complete?: boolean
  readonly removed?: readonly string[]
  /** Only with `?stale_ms=`: nodes that were not seen for that long. Their `last_seen_unix_ms` is not a change. */
  readonly stale?: readonly string[]
  /** Number of all nodes of this version, with `?since=`, so that its reader can check what it has. */
  readonly count?: number
}

/**
 * Returns whether a node is in maintenance at a time in Unix milliseconds. Timed maintenance has ended once its end has
 * passed.
 */
export function isInMaintenance(
  node: Pick<NodeRecord, 'maintenance' | 'maintenance_until_unix_ms'>,
  now: number
): boolean {
  const { maintenance, maintenance_until_unix_ms: until } = node
  return maintenance === true && (until === undefined || until > now)
}
