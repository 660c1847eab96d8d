import { type Infer, t } from '@svc/plugin-sdk'
import { MAX_MAINTENANCE_MS } from './messages.ts'
import { meshNodeId } from './node-record.ts'

const leaseId = t.string({ minLength: 1, maxLength: 64, description: 'Id of the lease: decimal digits.' })

/** Body of `POST exec/lease/grant`. */
export const execGrantBody = t.object(
  {
    claimer_node_id: meshNodeId,
    scope_key: t.string({ description: 'What is leased, for example task:REPOSITORY:42; at most 2,048 characters.' })
  },
  { additionalProperties: true, description: 'A request for a lease.' }
)

/** Body of `POST exec/lease/renew` and `exec/lease/release`. */
export const execLeaseBody = t.object(
  { lease_id: leaseId, claimer_node_id: meshNodeId },
  { additionalProperties: true, description: 'A lease and its holder.' }
)

/** Body of `POST admin/exec-lease/revoke`. */
export const execRevokeBody = t.object(
  { lease_id: leaseId },
  { additionalProperties: true, description: 'A lease to revoke.' }
)

/** Body of `POST admin/quarantine`. */
export const quarantineBody = t.object(
  { node_id: meshNodeId, quarantined: t.boolean({ description: 'Whether the node is excluded.' }) },
  { additionalProperties: true, description: 'Excludes or admits a node.' }
)

/** Body of `POST admin/maintenance`. */
export const maintenanceBody = t.object(
  {
    node_id: meshNodeId,
    maintenance: t.boolean({ description: 'Whether the node takes no new work.' }),
    maintenance_until_unix_ms: t.optional(t.integer({ minimum: 0, description: 'End; wins over maintenance_for_ms.' })),
    maintenance_for_ms: t.optional(
      t.integer({ minimum: 0, maximum: MAX_MAINTENANCE_MS, description: 'Duration from now; at most seven days.' })
    )
  },
  { additionalProperties: true, description: 'Switches the maintenance of a node.' }
)

/** Body of `POST leave`. */
export const leaveBody = t.object(
  { id: meshNodeId },
  { additionalProperties: true, description: 'A node that leaves.' }
)

/** Body of `POST bootstrap/exchange`. */
export const exchangeBody = t.object(
  { bootstrap_token: t.string({ minLength: 1, maxLength: 1_024, description: 'The one-time token.' }) },
  { additionalProperties: true, description: 'A one-time token.' }
)

/** Body of `POST x/pair`. */
export const pairBody = t.object(
  {
    expires_for_ms: t.optional(
      t.integer({ minimum: 1_000, maximum: 604_800_000, description: 'Lifetime; default ten minutes.' })
    )
  },
  { additionalProperties: true, description: 'A request for a one-time token.' }
)

export type ExecGrantBody = Infer<typeof execGrantBody>
export type ExecLeaseBody = Infer<typeof execLeaseBody>
export type MaintenanceBody = Infer<typeof maintenanceBody>

/** A live lease, as `exec/lease/grant` and `GET exec/leases` answer it. */
export interface ExecLease {
  /** Fence of the lease, in decimal. */
  readonly lease_id: string
  readonly scope_key: string
  readonly holder_node_id: string
  readonly expires_unix_ms: number
}

export interface ExecLeaseList {
  readonly leases: readonly ExecLease[]
}

/** Answer of `bootstrap/exchange`. */
export interface ExchangeAnswer {
  readonly mesh_token: string
  readonly scope_id?: string
}

/** Answer of `x/pair`. */
export interface PairAnswer {
  readonly bootstrap_token: string
  readonly expires_unix_ms: number
}
