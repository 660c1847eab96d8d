import type { Coordination, MeshActivities, MeshActivityOutcome, MeshActivityRequest, NodeReport } from '@svc/contracts'
import { type JobOptions, MeshJobs } from './mesh-jobs.ts'
import { noNode } from './node-choice.ts'

const LOCAL = 'local_registry_only'
const SCHEMA_VERSION = 1

export interface ActivityOptions extends JobOptions {
  /** Labels of this node. */
  readonly labels: readonly string[]
  readonly report: (signal: AbortSignal) => Promise<NodeReport>
  /** Store of the project, in which nodes without a control plane publish their records. */
  readonly coordination: () => Pick<Coordination, 'nodes'> | undefined
  readonly scope: string
}

/**
 * Runs the `mesh_…` activities of workflows.
 *
 * `dispatch` sends a `job_submit` to a node with the labels, and returns its result. With an argument `job`, it returns a
 * handle of the job at once, and a later `wait` with that handle returns the result.
 */
export function meshActivitiesOf(options: ActivityOptions): MeshActivities {
  const { client, node } = options
  const jobs = new MeshJobs(options)
  return {
    async run(request, signal) {
      if (!client.configured) return withoutControl(request, options)
      switch (request.operation) {
        case 'noop':
          return { control: 'noop_ok', node_id: node() }
        case 'join':
          await client.join(await options.report(signal), signal)
          return { control: 'join_ok', node_id: node() }
        case 'heartbeat':
          await client.heartbeat(await options.report(signal), signal)
          return { control: 'heartbeat_ok', node_id: node() }
        case 'snapshot': {
          const { list } = await client.nodes(null, signal)
          const { nodes = [], schema_version = SCHEMA_VERSION } = list ?? {}
          return { control: 'snapshot_ok', node_id: node(), node_count: nodes.length, schema_version }
        }
        case 'dispatch':
          return jobs.dispatch(request, signal)
        case 'wait':
          return jobs.wait(request, signal)
      }
    },
    forget: key => jobs.forget(key)
  }
}

/** Without a control plane, the mesh is this node, and the processes that share its database. Jobs run in the caller. */
async function withoutControl(
  { operation, labels }: MeshActivityRequest,
  { node, labels: own, coordination, scope }: ActivityOptions
): Promise<MeshActivityOutcome> {
  const node_id = node()
  if (operation === 'noop') return { control: 'noop_ok', node_id }
  if (operation === 'dispatch' && !labels.every(label => own.includes(label)))
    throw noNode(labels, [{ id: node_id, labels: own, why: null }], 'no control plane is configured')
  if (operation !== 'snapshot') return { control: LOCAL, node_id }
  const nodes = (await coordination()?.nodes.list(scope))?.nodes ?? []
  return { control: LOCAL, node_id, node_count: Math.max(1, nodes.length), schema_version: SCHEMA_VERSION }
}
