import {
  type Bindings,
  type Column,
  type DashboardAction,
  dashboardActions,
  dashboardCards,
  dashboardPages,
  type Link,
  type TableView,
  type View
} from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import { NODE_STATES } from './mesh-rows.ts'

const MESH = 'mesh/mesh'
const NODE_PAGE = 'mesh/nodes/:id'
const NODE = 'mesh-node'
const LEASE = 'mesh-lease'

const JOIN =
  'Join a mesh with: svc mesh join URL --bootstrap TOKEN. Make one with: svc mesh up, which prints that command.'

const summary: View = {
  kind: 'record',
  operation: 'mesh.check',
  columns: [
    { field: 'state', title: 'Mesh', format: 'state' },
    { field: 'node_id', title: 'This node' },
    { field: 'scope_id', title: 'Scope' },
    { field: 'nodes', title: 'Nodes', format: 'number' },
    { field: 'ready', title: 'Ready', format: 'number' },
    { field: 'stale', title: 'Stale', format: 'number' },
    { field: 'maintenance', title: 'In maintenance', format: 'number' },
    { field: 'quarantined', title: 'In quarantine', format: 'number' },
    { field: 'gpu_nodes', title: 'With ready GPUs', format: 'number' },
    { field: 'leases', title: 'Leases', format: 'number' },
    { field: 'queue_depth', title: 'Waiting messages', format: 'number' },
    { field: 'fault_count', title: 'Faults', format: 'number' }
  ]
}

const nodeColumns: readonly Column[] = [
  { field: 'id', title: 'Node' },
  { field: 'state', title: 'State', format: 'state' },
  { field: 'seen_unix_ms', title: 'Seen', format: 'time' },
  { field: 'labels', title: 'Labels' },
  { field: 'gpu', title: 'GPU', format: 'state' },
  { field: 'leases', title: 'Leases', format: 'number' }
]

const moreColumns: readonly Column[] = [
  ...nodeColumns,
  { field: 'gpu_detail', title: 'GPU details' },
  { field: 'models', title: 'Models' },
  { field: 'kinds', title: 'Kinds of work' },
  { field: 'cpu_usage', title: 'CPU', format: 'percent' },
  { field: 'memory_free_bytes', title: 'Free memory', format: 'bytes' },
  { field: 'maintenance_until_unix_ms', title: 'Maintenance ends', format: 'time' },
  { field: 'host', title: 'Host' },
  { field: 'version', title: 'Version' },
  { field: 'own', title: 'This machine', format: 'boolean' }
]

const ofRoute = { from: 'route', name: 'id' } as const

const nodes: TableView = {
  kind: 'table',
  operation: 'mesh.nodes.feed',
  key: 'id',
  columns: nodeColumns,
  filters: [
    { name: 'state', label: 'State', choices: NODE_STATES, field: 'state' },
    { name: 'gpu', label: 'GPU', choices: ['ready', 'not ready', 'unknown', 'none'], field: 'gpu' },
    { name: 'node', label: 'Node', field: 'id' }
  ],
  of: NODE,
  open: { page: NODE_PAGE, params: { id: { from: 'row', name: 'id' } } },
  sort: 'id',
  empty: `The machines of the mesh appear here when svc serve runs on them. ${JOIN}`
}

const leaseColumns: readonly Column[] = [
  { field: 'scope_key', title: 'What is leased', format: 'code' },
  { field: 'holder_node_id', title: 'Holder' },
  { field: 'holder_state', title: 'State of the holder', format: 'state' },
  { field: 'expires_unix_ms', title: 'Expires', format: 'time' },
  { field: 'lease_id', title: 'Lease', format: 'code' }
]

const leases: TableView = {
  kind: 'table',
  operation: 'mesh.leases.feed',
  key: 'lease_id',
  columns: leaseColumns,
  filters: [
    { name: 'holder', label: 'Holder', field: 'holder_node_id' },
    { name: 'scope', label: 'What is leased', field: 'scope_key' }
  ],
  of: LEASE,
  sort: 'expires_unix_ms',
  empty: 'Leases appear here while tasks run on another machine than the one that submitted them.'
}

const openTask: Link = { page: 'orchestrator-tools/tasks/:id', params: { id: { from: 'row', name: 'key' } } }

const placement: TableView = {
  kind: 'table',
  operation: 'mesh.placement',
  rows: 'tasks',
  key: 'key',
  columns: [
    { field: 'task', title: 'Task' },
    { field: 'description', title: 'Description' },
    { field: 'direction', title: 'Direction', format: 'text' },
    { field: 'node', title: 'Other machine' },
    { field: 'process', title: 'Process' },
    { field: 'confirmed', title: 'Received', format: 'boolean' },
    { field: 'placement_reason', title: 'Why', format: 'code' },
    { field: 'started_at_ms', title: 'Started', format: 'time' }
  ],
  open: openTask,
  sort: '-started_at_ms',
  empty:
    'Tasks in progress on another machine, or for one, appear here. [orchestrator] mesh_remote_execute_experimental ' +
    'lets tasks leave this machine.'
}

const faults: TableView = {
  kind: 'table',
  operation: 'mesh.check',
  rows: 'faults',
  key: 'key',
  columns: [
    { field: 'severity', title: 'Severity', format: 'state' },
    { field: 'subject', title: 'Where' },
    { field: 'fault', title: 'Fault' },
    { field: 'next_step', title: 'Next step' }
  ],
  empty: 'No faults: all control planes respond, and all nodes send heartbeats.'
}

const planes: TableView = {
  kind: 'table',
  operation: 'mesh.check',
  rows: 'control_planes',
  key: 'url',
  columns: [
    { field: 'url', title: 'Control plane', format: 'code' },
    { field: 'state', title: 'State', format: 'state' },
    { field: 'detail', title: 'Details' },
    { field: 'ms', title: 'Answers in', format: 'ms' }
  ],
  empty: JOIN
}

const page: View = {
  kind: 'stack',
  items: [
    { view: summary },
    {
      view: {
        kind: 'tabs',
        items: [
          { title: 'Nodes', view: nodes },
          { title: 'Faults', view: faults },
          { title: 'Leases', view: leases },
          { title: 'Placement', view: placement },
          { title: 'Control planes', view: planes }
        ]
      }
    }
  ]
}

const node: View = {
  kind: 'stack',
  items: [
    {
      view: {
        kind: 'record',
        operation: 'mesh.nodes',
        input: { node: ofRoute, limit: { value: 1 } },
        field: 'nodes.0',
        of: NODE,
        columns: moreColumns,
        empty: 'The mesh has no node of this id. A node is removed when svc serve ends on it.'
      }
    },
    {
      title: 'Leases',
      view: {
        kind: 'table',
        operation: 'mesh.leases',
        input: { holder: ofRoute, limit: { value: 200 } },
        rows: 'leases',
        key: 'lease_id',
        columns: leaseColumns,
        of: LEASE,
        empty: 'The node holds no exec lease.'
      }
    }
  ]
}

/** Binds an operation to the node of the row, and a state. */
function ofNode(state: 'on' | 'off'): Bindings {
  return { node: { from: 'row', name: 'id' }, state: { value: state } }
}

// The operations have a scope, so that only owners may call them.
const actions: readonly DashboardAction[] = [
  {
    on: NODE,
    label: 'Start maintenance',
    operation: 'mesh.admin.maintenance',
    bind: ofNode('on'),
    ask: ['for_ms'],
    when: { field: 'maintenance', in: [false] },
    role: 'owner'
  },
  {
    on: NODE,
    label: 'End maintenance',
    operation: 'mesh.admin.maintenance',
    bind: ofNode('off'),
    when: { field: 'maintenance', in: [true] },
    role: 'owner',
    tone: 'primary'
  },
  {
    on: NODE,
    label: 'Quarantine',
    operation: 'mesh.admin.quarantine',
    bind: ofNode('on'),
    when: { field: 'quarantined', in: [false] },
    role: 'owner',
    tone: 'danger'
  },
  {
    on: NODE,
    label: 'Admit',
    operation: 'mesh.admin.quarantine',
    bind: ofNode('off'),
    when: { field: 'quarantined', in: [true] },
    role: 'owner',
    tone: 'primary'
  },
  {
    on: LEASE,
    label: 'Revoke',
    operation: 'mesh.admin.revoke_lease',
    bind: { lease: { from: 'row', name: 'lease_id' } },
    role: 'owner',
    tone: 'danger'
  }
]

/** Contributes the page Mesh of the console, its actions, and its card. */
export function contributePages(ctx: Pick<PluginContext, 'contribute'>): void {
  ctx.contribute(dashboardPages, {
    path: MESH,
    title: 'Mesh',
    summary: 'Machines of the mesh, what they hold, and what is wrong',
    icon: 'network',
    section: 'run',
    order: 36,
    view: page
  })
  ctx.contribute(dashboardPages, { path: NODE_PAGE, title: 'Node', icon: 'network', section: 'run', view: node })
  for (const action of actions) ctx.contribute(dashboardActions, action, `${action.label} of ${action.on}`)
  ctx.contribute(dashboardCards, {
    title: 'Faults of the mesh',
    size: 'm',
    order: 62,
    view: {
      kind: 'table',
      operation: 'mesh.check',
      rows: 'faults',
      key: 'key',
      columns: [
        { field: 'severity', title: 'Severity', format: 'state' },
        { field: 'subject', title: 'Where' },
        { field: 'fault', title: 'Fault' }
      ],
      empty: 'No faults. A project that has joined no mesh has none.'
    },
    link: { page: MESH }
  })
}
