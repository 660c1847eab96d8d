import type { ExecLease, NodeRecord } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import type { MeshClient } from './client.ts'
import { hintOf, isGpuCapable } from './hints.ts'
import type { Telemetry } from './telemetry.ts'

export type ReconcileReason =
  | 'holder_not_in_registry'
  | 'holder_heartbeat_stale'
  | 'holder_in_maintenance'
  | 'holder_quarantined'
  | 'holder_gpu_not_ready'

/** Reasons that are logged as a warning; the others are expected. */
const WARNED: ReadonlySet<ReconcileReason> = new Set(['holder_not_in_registry', 'holder_heartbeat_stale'])

export interface ReconcileOptions {
  readonly client: Pick<MeshClient, 'leases' | 'revoke'>
  /** Whether the heartbeat of a node is stale. */
  readonly isStale: (node: NodeRecord) => boolean
  /** Whether leases without a fit holder are revoked. */
  readonly autoRevoke: boolean
  readonly telemetry: Telemetry
  readonly log: Logger
  readonly now?: () => number
}

/** Compares the holder of each exec lease with the nodes of a fresh poll. Revokes leases if the settings say so. */
export async function reconcileLeases(
  nodes: readonly NodeRecord[],
  options: ReconcileOptions,
  signal: AbortSignal
): Promise<void> {
  const { client, autoRevoke, telemetry, log, isStale, now = Date.now } = options
  const byId = new Map(nodes.map(node => [node.id, node]))
  for (const lease of await client.leases(signal)) {
    const holder = byId.get(lease.holder_node_id)
    const reason = unfitness(holder, now(), holder !== undefined && isStale(holder))
    if (reason === null) continue
    const ok = autoRevoke ? await revoked(client, lease, log, signal) : null
    const details = { ...factsOf(lease), reason, auto_revoke_attempted: autoRevoke, auto_revoke_ok: ok }
    log[WARNED.has(reason) ? 'warn' : 'debug']('the holder of an exec lease is not fit', details)
    telemetry.record('mesh_exec_lease_reconcile', details)
  }
}

/** Returns why a node may not hold a lease; null if it may. Undefined: the node is not in the mesh. */
export function unfitness(node: NodeRecord | undefined, now: number, isStale: boolean): ReconcileReason | null {
  if (node === undefined) return 'holder_not_in_registry'
  const hint = hintOf(node, now, isStale)
  if (hint.heartbeat_stale) return 'holder_heartbeat_stale'
  if (hint.maintenance) return 'holder_in_maintenance'
  if (hint.quarantined) return 'holder_quarantined'
  return isGpuCapable(hint) && hint.gpu_readiness_ok === false ? 'holder_gpu_not_ready' : null
}

async function revoked(
  client: Pick<MeshClient, 'revoke'>,
  { lease_id }: ExecLease,
  log: Logger,
  signal: AbortSignal
): Promise<boolean> {
  try {
    await client.revoke(lease_id, signal)
    return true
  } catch (error) {
    if (signal.aborted) throw error
    log.warn('an exec lease could not be revoked', { lease_id, reason: errorMessage(error) })
    return false
  }
}

function factsOf({ lease_id, holder_node_id, scope_key, expires_unix_ms }: ExecLease) {
  return { lease_id, holder_node_id, scope_key, expires_unix_ms }
}
