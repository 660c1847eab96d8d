import type { MeshSettings, RepositoryTask, RepositoryTasks } from '@svc/contracts'
import { processLabel, taskLabel } from '@svc/contracts'
import { type Delta, DeltaLog, defined, type Handler, type SvcError } from '@svc/plugin-sdk'
import { meshPluginErrors } from './errors.ts'
import { faultsOf, type MeshFault } from './mesh-faults.ts'
import type { MeshReader, MeshReading } from './mesh-reading.ts'
import { isHolderOnly, type LeaseRow, type NodeRow, type NodeState } from './mesh-rows.ts'
import type {
  checkOperation,
  leasesFeed,
  leasesOperation,
  nodesFeed,
  nodesOperation,
  placementOperation
} from './read-operations.ts'
import { counted, plainText } from './status-text.ts'

const MAX_FAULTS = 200
const MAX_DESCRIPTION = 120

export function nodesHandler(reader: MeshReader): Handler<typeof nodesOperation> {
  return async ({ node, state, label, limit }, { signal }) => {
    const { nodes, error } = joined(await reader.read(signal))
    if (error !== null) throw error
    const found = nodes.filter(
      each =>
        (node === undefined || each.id === node) &&
        (state === undefined || each.state === state) &&
        (label === undefined || each.labels.includes(label))
    )
    return { total: found.length, nodes: found.slice(0, limit) }
  }
}

export function leasesHandler(reader: MeshReader): Handler<typeof leasesOperation> {
  return async ({ holder, limit }, { signal }) => {
    const { leases, leasesError } = joined(await reader.read(signal))
    if (leasesError !== null) throw leasesError
    const found = leases.filter(each => holder === undefined || each.holder_node_id === holder)
    return { total: found.length, leases: found.slice(0, limit) }
  }
}

/** Rows that a feed has sent. They outlive a reload of the plugin only in the page, which then reads all of them again. */
class Feed<Row> {
  readonly #log = new DeltaLog<Row>()
  #rows: readonly Row[] | null = null

  read(rows: readonly Row[], keyOf: (row: Row) => string, since: string | undefined, limit: number): Delta<Row> {
    if (rows !== this.#rows) this.#log.replaceAll(rows, keyOf)
    this.#rows = rows
    return this.#log.read(since, limit)
  }
}

export function nodesFeedHandler(reader: MeshReader): Handler<typeof nodesFeed> {
  const feed = new Feed<NodeRow>()
  return async ({ since, limit }, { signal }) => {
    const { nodes, error } = await reader.read(signal)
    if (error !== null) throw error
    return copied(feed.read(nodes, ({ id }) => id, since, limit))
  }
}

export function leasesFeedHandler(reader: MeshReader): Handler<typeof leasesFeed> {
  const feed = new Feed<LeaseRow>()
  return async ({ since, limit }, { signal }) => {
    const { leases, leasesError } = await reader.read(signal)
    if (leasesError !== null) throw leasesError
    return copied(feed.read(leases, ({ lease_id }) => lease_id, since, limit))
  }
}

function copied<Row>({ upsert, remove, ...delta }: Delta<Row>) {
  return { ...delta, upsert: [...upsert], remove: [...remove] }
}

export function checkHandler(
  reader: MeshReader,
  settings: Pick<MeshSettings, 'nodeId' | 'scopeId'>
): Handler<typeof checkOperation> {
  return async (_input, { signal }) => {
    const reading = await reader.read(signal)
    const faults = faultsOf(reading)
    const state = stateOf(reading, faults)
    const { nodeId, scopeId } = settings
    const healthy = !faults.some(({ severity }) => severity === 'error')
    const own = { state, healthy, node_id: nodeId, ...(scopeId === null ? null : { scope_id: scopeId }) }
    const found = {
      ...own,
      control_planes: reading.planes.map(({ detail, ...each }) => (detail === undefined ? each : { ...each, detail })),
      ...(reading.error === null && state !== 'not joined' ? countsOf(reading) : null),
      fault_count: faults.length,
      faults: faults.slice(0, MAX_FAULTS)
    }
    return { ...found, text: checkText(found) }
  }
}

function stateOf(
  { planes, error }: MeshReading,
  faults: readonly MeshFault[]
): 'ready' | 'degraded' | 'unreachable' | 'not joined' {
  if (planes.length === 0) return 'not joined'
  if (error !== null) return 'unreachable'
  return faults.length === 0 ? 'ready' : 'degraded'
}

/** Counts nodes without those that only hold leases. */
function countsOf({ nodes: all, leases, leasesError, queueDepth }: MeshReading) {
  const nodes = all.filter(each => !isHolderOnly(each))
  const count = (state: NodeState) => nodes.filter(each => each.state === state).length
  return defined({
    nodes: nodes.length,
    ready: count('ready'),
    stale: count('stale'),
    maintenance: count('maintenance'),
    quarantined: count('quarantined'),
    gpu_nodes: nodes.filter(({ gpu }) => gpu === 'ready').length,
    leases: leasesError === null ? leases.length : undefined,
    queue_depth: queueDepth ?? undefined
  })
}

interface Checked {
  readonly state: string
  readonly control_planes: readonly { readonly url: string; readonly state: string; readonly ms: number }[]
  readonly nodes?: number
  readonly ready?: number
  readonly leases?: number
  readonly fault_count: number
  readonly faults: readonly MeshFault[]
}

function checkText({ state, control_planes, nodes, ready, leases, faults, fault_count }: Checked): string {
  if (state === 'not joined') return 'This project has joined no mesh. Join one: svc mesh join URL --bootstrap TOKEN'
  const planes = control_planes.map(({ url, state, ms }) => `${url}: ${state}, ${ms} ms`)
  const counts = nodes === undefined ? [] : [countsText(nodes, ready ?? 0, leases)]
  const shown = faults.flatMap(each => [`${each.severity}: ${each.subject}: ${each.fault}`, `  ${each.next_step}`])
  const more = fault_count > faults.length ? [`and ${fault_count - faults.length} more`] : []
  return plainText([...planes, ...counts, ...(fault_count === 0 ? ['no faults'] : ['', ...shown, ...more])])
}

function countsText(nodes: number, ready: number, leases: number | undefined): string {
  const held = leases === undefined ? '' : `, ${counted(leases, 'lease')}`
  const none = nodes === 0 ? '; a member joins when svc serve runs there' : ''
  return `${ready} of ${counted(nodes, 'node')} ready${held}${none}`
}

/** Lists tasks in progress with their place. `tasks` is undefined where no orchestrator runs. */
export function placementHandler(tasks: () => RepositoryTasks | undefined): Handler<typeof placementOperation> {
  return async ({ limit }, { signal }) => {
    const view = tasks()
    if (view === undefined)
      throw meshPluginErrors.create('MSP_NO_TASKS', 'no orchestrator runs in this process', {
        hint: 'start svc serve, and call the operation there; svc orch tasks shows all tasks of the repository'
      })
    const { items } = await view.list({ status: 'InProgress' }, signal)
    const placed = items.filter(({ remote, remote_origin, placement_reason }) => {
      return remote !== undefined || remote_origin !== undefined || placement_reason === 'mesh_remote_lease_hold'
    })
    return { tasks: placed.slice(0, limit).map(placementRow) }
  }
}

function placementRow(task: RepositoryTask) {
  const { id, remote, remote_origin: origin, process } = task
  const line = task.description.split('\n', 1)[0] ?? ''
  return defined({
    key: process.own || process.seat !== null ? String(id) : `${id}@${process.host}`,
    task: taskLabel(id),
    description: line.length > MAX_DESCRIPTION ? `${line.slice(0, MAX_DESCRIPTION - 1)}…` : line,
    direction: origin === undefined ? ('sent' as const) : ('received' as const),
    process: processLabel(process),
    node: origin === undefined ? remote?.mesh_node_id : origin.submitter_node_id,
    placement_reason: task.placement_reason,
    lease_id: remote?.lease_id,
    confirmed: remote?.confirmed,
    started_at_ms: task.started_at_ms
  })
}

/** Throws `MSP_NOT_JOINED` if no control plane is configured. */
function joined(reading: MeshReading): MeshReading {
  if (reading.planes.length > 0) return reading
  throw notJoined()
}

function notJoined(): SvcError {
  return meshPluginErrors.create('MSP_NOT_JOINED', 'this project has joined no mesh', {
    hint: 'svc mesh join URL --bootstrap TOKEN, or set [mesh] control_url; svc mesh up makes a control plane'
  })
}
