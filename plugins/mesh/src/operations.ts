import { MAX_MAINTENANCE_MS, meshErrors } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { meshPluginErrors } from './errors.ts'

const node = t.string({ minLength: 1, maxLength: 256, description: 'Id of the node' })
export const meshOperationErrors = {
  ...meshPluginErrors.specs,
  MSH_URL_INVALID: meshErrors.specs.MSH_URL_INVALID
}
const errors = meshOperationErrors

/** Scope of callers that may change the mesh. */
const ADMIN = ['mesh.admin']

export const statusOperation = defineOperation({
  id: 'mesh.status',
  summary: 'Show the nodes of the mesh',
  input: t.object({}),
  output: t.object({
    healthy: t.boolean({ description: 'True if the control plane responds, or none is configured.' }),
    enabled: t.boolean(),
    control_urls: t.array(t.string()),
    node_id: t.string(),
    scope_id: t.nullable(t.string()),
    error: t.optional(t.string()),
    queue_depth: t.optional(t.integer()),
    nodes: t.array(
      t.object({
        id: t.string(),
        state: t.enum(['ready', 'maintenance', 'quarantined']),
        seen_seconds_ago: t.integer(),
        version: t.string(),
        labels: t.array(t.string()),
        gpus: t.nullable(t.integer()),
        models: t.array(t.string())
      })
    ),
    leases: t.optional(
      t.array(
        t.object({
          lease_id: t.string(),
          scope_key: t.string(),
          holder_node_id: t.string(),
          expires_unix_ms: t.integer()
        })
      )
    ),
    text: t.string()
  }),
  effect: 'read',
  errors,
  expose: { cli: { command: 'mesh status', view: { text: 'text' } } }
})

export const pairOperation = defineOperation({
  id: 'mesh.pair',
  summary: 'Create a one-time token for a new node',
  input: t.object({
    minutes: t.integer({ default: 10, minimum: 1, maximum: 10_080, description: 'Minutes until the token expires' }),
    url: t.optional(t.string({ minLength: 1, description: 'URL in the printed command; default: the configured one' }))
  }),
  output: t.object({ bootstrap_token: t.string(), expires_unix_ms: t.integer(), command: t.string() }),
  effect: 'write',
  scopes: ADMIN,
  errors,
  expose: { cli: { command: 'mesh pair', view: { text: 'command' } } }
})

export const joinOperation = defineOperation({
  id: 'mesh.join',
  summary: 'Make this project a member of a mesh',
  input: t.object({
    url: t.string({ minLength: 1, description: 'URL of the control plane, or several with commas' }),
    bootstrap: t.optional(
      t.secret({ minLength: 1, maxLength: 1_024, description: 'One-time token of svc mesh pair or svc mesh up' })
    )
  }),
  output: t.object({
    control_urls: t.array(t.string()),
    node_id: t.string(),
    scope_id: t.nullable(t.string()),
    text: t.string()
  }),
  effect: 'write',
  scopes: ADMIN,
  errors,
  expose: { cli: { command: 'mesh join', args: ['url'], view: { text: 'text' } } }
})

export const leaveOperation = defineOperation({
  id: 'mesh.leave',
  summary: 'Remove this node from its mesh',
  input: t.object({}),
  output: t.object({
    was_node: t.boolean({ description: 'Whether the control plane knew this node.' }),
    was_member: t.boolean({ description: 'Whether this project had joined with svc mesh join.' }),
    text: t.string()
  }),
  effect: 'destructive',
  scopes: ADMIN,
  errors,
  expose: { cli: { command: 'mesh leave', view: { text: 'text' } } }
})

export const maintenanceOperation = defineOperation({
  id: 'mesh.admin.maintenance',
  summary: 'Switch the maintenance of a node',
  input: t.object({
    node,
    state: t.enum(['on', 'off'], { description: 'Whether the node takes no new work' }),
    for_ms: t.optional(
      t.integer({ minimum: 1, maximum: MAX_MAINTENANCE_MS, description: 'Milliseconds, at most seven days' })
    ),
    until_unix_ms: t.optional(t.integer({ minimum: 0, description: 'End in Unix milliseconds; wins over --for-ms' }))
  }),
  output: t.object({ node: t.string(), state: t.string(), text: t.string() }),
  effect: 'write',
  scopes: ADMIN,
  errors,
  expose: { cli: { command: 'mesh admin maintenance', args: ['node', 'state'], view: { text: 'text' } } }
})

export const quarantineOperation = defineOperation({
  id: 'mesh.admin.quarantine',
  summary: 'Exclude a node, or admit it again',
  input: t.object({ node, state: t.enum(['on', 'off'], { description: 'Whether the node is excluded' }) }),
  output: t.object({ node: t.string(), state: t.string(), text: t.string() }),
  effect: 'write',
  scopes: ADMIN,
  errors,
  expose: { cli: { command: 'mesh admin quarantine', args: ['node', 'state'], view: { text: 'text' } } }
})

export const revokeOperation = defineOperation({
  id: 'mesh.admin.revoke_lease',
  summary: 'End an exec lease of any node',
  input: t.object({ lease: t.string({ minLength: 1, maxLength: 64, description: 'Id of the lease' }) }),
  output: t.object({ lease: t.string(), text: t.string() }),
  effect: 'destructive',
  scopes: ADMIN,
  errors,
  expose: { cli: { command: 'mesh admin exec-lease-revoke', args: ['lease'], view: { text: 'text' } } }
})

export const operations = [
  statusOperation,
  pairOperation,
  joinOperation,
  leaveOperation,
  maintenanceOperation,
  quarantineOperation,
  revokeOperation
]
