import { defineOperation, deltaOperation, t } from '@svc/plugin-sdk'
import { leaseRow, NODE_STATES, nodeRow } from './mesh-rows.ts'
import { meshOperationErrors as errors } from './operations.ts'

/** Announced while a page shows the mesh, and after each change by this process. */
export const MESH_TOPIC = 'mesh.state'
/** Interval of the announcements while a page is open, in milliseconds. */
export const REFRESH_MS = 2_000

const watch = { on: [MESH_TOPIC], minMs: 1_000 }
const limit = (byDefault: number) =>
  t.integer({ default: byDefault, minimum: 1, maximum: 10_000, description: 'Maximum number of rows' })

export const nodesOperation = defineOperation({
  id: 'mesh.nodes',
  summary: 'List the nodes of the mesh',
  input: t.object({
    node: t.optional(t.string({ minLength: 1, description: 'Only the node with this id' })),
    state: t.optional(t.enum(NODE_STATES, { description: 'Only nodes in this state' })),
    label: t.optional(t.string({ minLength: 1, description: 'Only nodes with this label' })),
    limit: limit(1_000)
  }),
  output: t.object({
    total: t.integer({ description: 'Number of nodes that match, also those beyond the limit.' }),
    nodes: t.array(nodeRow)
  }),
  effect: 'read',
  errors,
  watch,
  expose: {
    mcp: {
      name: 'svc_mesh_nodes',
      lane: 'platform',
      toolsets: ['mesh'],
      use: 'Machines with capabilities and state. Problems and advice: svc_mesh_check.'
    },
    rpc: true,
    cli: {
      command: 'mesh nodes',
      view: { rows: 'nodes', columns: ['id', 'state', 'gpu', 'leases', 'labels', 'models', 'version'] }
    }
  }
})

export const nodesFeed = deltaOperation({
  id: 'mesh.nodes.feed',
  summary: 'List changes of nodes since a cursor',
  row: nodeRow,
  watch,
  errors,
  expose: { rpc: true }
})

export const leasesOperation = defineOperation({
  id: 'mesh.leases',
  summary: 'List the exec leases of the mesh',
  input: t.object({
    holder: t.optional(t.string({ minLength: 1, description: 'Only leases of this node' })),
    limit: limit(1_000)
  }),
  output: t.object({
    total: t.integer({ description: 'Number of leases that match, also those beyond the limit.' }),
    leases: t.array(leaseRow)
  }),
  effect: 'read',
  errors,
  watch,
  expose: {
    mcp: {
      name: 'svc_mesh_leases',
      lane: 'platform',
      toolsets: ['mesh'],
      use: 'Who runs what exclusively, and until when. Tasks by machine: svc_mesh_placement.'
    },
    rpc: true,
    cli: {
      command: 'mesh leases',
      view: { rows: 'leases', columns: ['lease_id', 'scope_key', 'holder_node_id', 'holder_state', 'expires'] }
    }
  }
})

export const leasesFeed = deltaOperation({
  id: 'mesh.leases.feed',
  summary: 'List changes of exec leases since a cursor',
  row: leaseRow,
  watch,
  errors,
  expose: { rpc: true }
})

const count = t.optional(t.integer())

export const checkOperation = defineOperation({
  id: 'mesh.check',
  summary: 'Check control planes, nodes and leases',
  input: t.object({}),
  output: t.object({
    state: t.enum(['ready', 'degraded', 'unreachable', 'not joined'], {
      description: 'degraded: some control planes or nodes have a fault. unreachable: the nodes cannot be read.'
    }),
    healthy: t.boolean({ description: 'False if a fault is an error.' }),
    node_id: t.string(),
    scope_id: t.optional(t.string()),
    control_planes: t.array(
      t.object({
        url: t.string(),
        state: t.enum(['ready', 'degraded', 'unreachable', 'invalid']),
        detail: t.optional(t.string()),
        ms: t.integer({ description: 'Duration of the check in milliseconds.' })
      })
    ),
    nodes: count,
    ready: count,
    stale: count,
    maintenance: count,
    quarantined: count,
    gpu_nodes: t.optional(t.integer({ description: 'Nodes with graphics cards that are ready.' })),
    leases: count,
    queue_depth: t.optional(t.integer({ description: 'Messages that wait in all mailboxes.' })),
    fault_count: t.integer(),
    faults: t.array(
      t.object({
        key: t.string(),
        severity: t.enum(['error', 'warning']),
        subject: t.string({ description: 'URL of a control plane, node, or lease.' }),
        fault: t.string(),
        next_step: t.string()
      }),
      { description: 'At most 200, errors first.' }
    ),
    text: t.string()
  }),
  effect: 'read',
  errors,
  watch,
  expose: {
    mcp: {
      name: 'svc_mesh_check',
      lane: 'platform',
      toolsets: ['mesh'],
      use: 'Use it when nodes are missing or leases do not end. Plain list of nodes: svc_mesh_nodes.'
    },
    rpc: true,
    cli: { command: 'mesh check', view: { text: 'text' } }
  }
})

export const placementOperation = defineOperation({
  id: 'mesh.placement',
  summary: 'List tasks in progress that were placed on another machine, or came from one',
  input: t.object({ limit: limit(200) }),
  output: t.object({
    tasks: t.array(
      t.object({
        key: t.string({
          description: 'Reference of the task: its id, with the host for a host with another database.'
        }),
        task: t.string({ description: 'Label of the task, such as T-0042.' }),
        description: t.string({ description: 'First line, at most 120 characters.' }),
        direction: t.enum(['sent', 'received'], {
          description: 'sent: another machine works on it. received: this process works on it for another machine.'
        }),
        process: t.string({ description: 'Process that holds the task, for example 4711 on box.' }),
        node: t.optional(
          t.string({ description: 'sent: node that works on it, if known. received: node that sent it.' })
        ),
        placement_reason: t.string(),
        lease_id: t.optional(t.string()),
        confirmed: t.optional(t.boolean({ description: 'False until the other machine has received the task.' })),
        started_at_ms: t.optional(t.integer({ description: 'Unix milliseconds.' }))
      })
    )
  }),
  effect: 'read',
  errors,
  watch,
  expose: {
    mcp: {
      name: 'svc_mesh_placement',
      lane: 'platform',
      toolsets: ['mesh'],
      use: 'Where tasks run. Why one of them runs there: svc_explain_task.'
    },
    rpc: true
  }
})

export const readOperations = [
  nodesOperation,
  nodesFeed,
  leasesOperation,
  leasesFeed,
  checkOperation,
  placementOperation
]
