import type { ExecutionRole, MeshPolicy } from '@svc/contracts'
import { type Infer, t } from '@svc/plugin-sdk'
import { annotations, flag, integer, milliseconds } from './declare.ts'

/** Options of a setting `mesh_NAME`, which files may also call `populi_NAME`. */
const named = (name: string, env: string) => ({ env: `MESH_${env}`, live: true, aliases: [`populi_${name}`] })

/** Decimal id of an agent. */
const AGENT_ID = '^[0-9]{1,15}$'
const MAX_SECONDS = 86_400

const seconds = (value: number, description: string, options: Parameters<typeof annotations>[0]) =>
  integer(value, [0, MAX_SECONDS], description, options)

/** Declares a flag whose environment variable accepts `1`, too. */
const truthy = (description: string, options: Parameters<typeof annotations>[0]) =>
  t.boolean({ default: false, description, 'x-env-type': 'truthy', ...annotations(options) })

/** Settings of tasks on other machines. The plugins of the mesh read them from `orchestrator.policy.mesh`. */
export const mesh = {
  mesh_control_url: t.optional(
    t.string({
      minLength: 1,
      description: 'Base URL of the control plane. Default: control_url of the section [mesh].',
      ...annotations(named('control_url', 'CONTROL_URL'))
    })
  ),
  mesh_poll_interval_secs: seconds(
    30,
    'Seconds between queries of the mesh nodes; 0 turns them off.',
    named('poll_interval_secs', 'POLL_INTERVAL_SECS')
  ),
  mesh_http_timeout_ms: milliseconds(
    10_000,
    0,
    'Timeout of requests to the control plane in milliseconds; at least 500, and 1,000 for relays.',
    named('http_timeout_ms', 'HTTP_TIMEOUT_MS')
  ),
  mesh_routing_experimental: flag(
    false,
    'Whether schedulable mesh nodes count in routing and in scaling.',
    named('routing_experimental', 'ROUTING_EXPERIMENTAL')
  ),
  mesh_rebalance_on_remote_schedulable_drop: flag(
    false,
    'Whether queued tasks are rebalanced when the number of schedulable nodes drops.',
    named('rebalance_on_remote_schedulable_drop', 'REBALANCE_ON_REMOTE_SCHEDULABLE_DROP')
  ),
  mesh_replay_queued_routes_on_remote_schedulable_drop: flag(
    false,
    'Whether queued tasks are routed again when the number of schedulable nodes drops.',
    named('replay_queued_routes_on_remote_schedulable_drop', 'REPLAY_QUEUED_ROUTES_ON_REMOTE_SCHEDULABLE_DROP')
  ),
  mesh_training_routing_experimental: flag(
    false,
    'Whether GPU, memory and labels of agents count in the routing of training tasks.',
    named('training_routing_experimental', 'TRAINING_ROUTING_EXPERIMENTAL')
  ),
  mesh_training_budget_pressure: t.number({
    default: 0,
    description: 'Share of the training budget in use; values outside of 0 to 1 are clamped.',
    ...annotations(named('training_budget_pressure', 'TRAINING_BUDGET_PRESSURE'))
  }),
  mesh_remote_execute_experimental: flag(
    false,
    'Whether tasks are relayed to other machines.',
    named('remote_execute_experimental', 'REMOTE_EXECUTE_EXPERIMENTAL')
  ),
  mesh_remote_lease_gating_enabled: flag(
    false,
    'Whether a relayed task is held by one machine only, with an execution lease.',
    named('remote_lease_gating_enabled', 'REMOTE_LEASE_GATING_ENABLED')
  ),
  mesh_remote_lease_gated_roles: t.array(t.string(), {
    default: [],
    description: 'Roles whose tasks need an execution lease: planner, builder, verifier, reproducer, researcher.',
    ...annotations(named('remote_lease_gated_roles', 'REMOTE_LEASE_GATED_ROLES'))
  }),
  mesh_remote_execute_receiver_agent: t.optional(
    t.string({
      pattern: AGENT_ID,
      description: 'Decimal agent id that receives relayed tasks. Default: none, so that nothing is relayed.',
      ...annotations(named('remote_execute_receiver_agent', 'REMOTE_EXECUTE_RECEIVER_AGENT'))
    })
  ),
  mesh_remote_execute_sender_agent: t.string({
    default: '1',
    pattern: AGENT_ID,
    description: 'Decimal agent id that sends tasks, and whose inbox receives the results.',
    ...annotations(named('remote_execute_sender_agent', 'REMOTE_EXECUTE_SENDER_AGENT'))
  }),
  mesh_remote_result_poll_interval_secs: seconds(
    5,
    'Seconds between queries of remote results; 0 turns them off.',
    named('remote_result_poll_interval_secs', 'REMOTE_RESULT_POLL_INTERVAL_SECS')
  ),
  mesh_remote_worker_poll_interval_secs: seconds(
    5,
    'Seconds between queries of remote work for this machine; 0 turns them off.',
    named('remote_worker_poll_interval_secs', 'REMOTE_WORKER_POLL_INTERVAL_SECS')
  ),
  mesh_remote_result_max_messages_per_poll: integer(
    64,
    [1, 10_000],
    'Maximum results in one response of the control plane.',
    named('remote_result_max_messages_per_poll', 'REMOTE_RESULT_MAX_MESSAGES_PER_POLL')
  ),
  mesh_exec_lease_reconcile: truthy(
    'Whether the holders of execution leases are compared with the mesh nodes.',
    named('exec_lease_reconcile', 'EXEC_LEASE_RECONCILE')
  ),
  mesh_exec_lease_auto_revoke: truthy(
    'Whether leases of missing or unfit holders are revoked; needs mesh_exec_lease_reconcile.',
    named('exec_lease_auto_revoke', 'EXEC_LEASE_AUTO_REVOKE')
  ),
  mesh_remote_lease_timeout_ms: milliseconds(
    300_000,
    1_000,
    'Milliseconds without a result after which a task on another machine is queued locally.',
    { live: true, aliases: ['remote_lease_timeout_ms'] }
  )
}

const ROLES: ReadonlySet<string> = new Set<ExecutionRole>([
  'planner',
  'builder',
  'verifier',
  'reproducer',
  'researcher'
])

/** Splits the gated roles into known ones, in lower case and without duplicates, and unknown ones. */
export function gatedRoles({ mesh_remote_lease_gated_roles: names }: MeshSettings): {
  readonly roles: readonly ExecutionRole[]
  readonly unknown: readonly string[]
} {
  const folded = new Map(names.map(name => [name.trim().toLowerCase(), name]))
  folded.delete('')
  const known = ([role]: readonly [string, string]): boolean => ROLES.has(role)
  const entries = [...folded]
  return {
    roles: entries.filter(known).map(([role]) => role as ExecutionRole),
    unknown: entries.filter(entry => !known(entry)).map(([, name]) => name)
  }
}

/** Returns the settings in the form that other plugins read. */
export function meshPolicy(settings: MeshSettings & { readonly stale_threshold_ms: number }): MeshPolicy {
  return {
    control_url: settings.mesh_control_url ?? null,
    poll_interval_secs: settings.mesh_poll_interval_secs,
    http_timeout_ms: settings.mesh_http_timeout_ms,
    stale_threshold_ms: settings.stale_threshold_ms,
    routing_experimental: settings.mesh_routing_experimental,
    rebalance_on_remote_schedulable_drop: settings.mesh_rebalance_on_remote_schedulable_drop,
    replay_queued_routes_on_remote_schedulable_drop: settings.mesh_replay_queued_routes_on_remote_schedulable_drop,
    training_routing_experimental: settings.mesh_training_routing_experimental,
    training_budget_pressure: Math.min(Math.max(settings.mesh_training_budget_pressure, 0), 1),
    remote_execute_experimental: settings.mesh_remote_execute_experimental,
    remote_lease_gating_enabled: settings.mesh_remote_lease_gating_enabled,
    remote_lease_gated_roles: gatedRoles(settings).roles,
    remote_execute_receiver_agent: settings.mesh_remote_execute_receiver_agent ?? null,
    remote_execute_sender_agent: settings.mesh_remote_execute_sender_agent,
    remote_result_poll_interval_secs: settings.mesh_remote_result_poll_interval_secs,
    remote_worker_poll_interval_secs: settings.mesh_remote_worker_poll_interval_secs,
    remote_result_max_messages_per_poll: settings.mesh_remote_result_max_messages_per_poll,
    exec_lease_reconcile: settings.mesh_exec_lease_reconcile,
    exec_lease_auto_revoke: settings.mesh_exec_lease_auto_revoke,
    remote_lease_timeout_ms: settings.mesh_remote_lease_timeout_ms
  }
}

const meshSchema = t.object(mesh)
type MeshSettings = Infer<typeof meshSchema>
