import type { RemoteNode } from '@svc/contracts'
import t from 'tap'
import { FakePlacer } from './fake-placer.ts'
import { openTestOrchestrator, type TestOrchestrator } from './test-orchestrator.ts'

const node = (node_id: string, over: Partial<RemoteNode> = {}): RemoteNode => ({
  node_id,
  capabilities: {},
  labels: [],
  has_gpu: false,
  maintenance: false,
  quarantined: false,
  heartbeat_stale: false,
  ...over
})
const nodes = (count: number, over: Partial<RemoteNode> = {}) =>
  Array.from({ length: count }, (_, at) => node(`n${at}`, over))
const DROP = {
  mesh_routing_experimental: true,
  mesh_rebalance_on_remote_schedulable_drop: true,
  mesh_replay_queued_routes_on_remote_schedulable_drop: true
}
const ROUTING = 'vox.orchestrator.routing'
const PLACEMENT = 'vox.orchestrator.placement'

/** Queues tasks of one agent, and adds an agent without tasks. */
async function unbalanced({ service }: TestOrchestrator, count: number): Promise<void> {
  await service.spawnAgent({ name: 'one' })
  for (let at = 0; at < count; at += 1) await service.submit({ description: `Part ${at}`, files: [] })
  await service.spawnAgent({ name: 'two' })
}

t.test('counts the schedulable nodes of all sources, each node once', async t => {
  const { service } = await openTestOrchestrator(t)
  const { remote } = service
  t.same(remote.setNodes('a', nodes(3)), { before: 0, after: 3 })
  t.same(remote.setNodes('b', [node('n1'), node('other')]), { before: 3, after: 4 })
  t.same(remote.setNodes('a', [node('n0', { quarantined: true }), node('n1', { maintenance: true })]), {
    before: 4,
    after: 2
  })
  t.same(remote.setNodes('b', [node('other', { heartbeat_stale: true })]), { before: 2, after: 0 })
  t.match(
    remote.nodes().map(({ node_id, source }) => [source, node_id]),
    [
      ['a', 'n0'],
      ['a', 'n1'],
      ['b', 'other']
    ]
  )
  t.same(remote.setNodes('b', []), { before: 0, after: 0 })
  t.equal(remote.nodes().length, 2)
})

t.test('later changes to a list that a source has passed have no effect', async t => {
  const { service } = await openTestOrchestrator(t)
  const list = nodes(2) as RemoteNode[]
  service.remote.setNodes('a', list)
  list.length = 0
  t.equal(service.remote.nodes().length, 2)
})

t.test('a drop is logged, rebalances and replays routes, each as its setting says', async t => {
  const opened = await openTestOrchestrator(t, { settings: { ...DROP, log_level: 'debug' } })
  await unbalanced(opened, 8)
  const { service, decisions } = opened
  decisions.length = 0
  service.remote.setNodes('poll', nodes(2))
  await settled(service)
  t.same(decisions, [], 'a rise has no effect')
  service.remote.setNodes('poll', nodes(1))
  await settled(service)
  t.match(decisions, [
    { target: ROUTING, decision: 'mesh_remote_schedulable_decreased', source: 'poll', before: 2, after: 1 },
    { target: ROUTING, decision: 'mesh_remote_drop_load_rebalance', tasks_moved: 1 },
    ...Array(3).fill({ target: PLACEMENT, decision: 'queued_route_replay_move', from: 1, to: 2 }),
    { target: ROUTING, decision: 'mesh_remote_drop_queued_route_replay', tasks_moved: 3 }
  ])
  t.match(service.agents(), [{ queued: 4 }, { queued: 4 }])
  decisions.length = 0
  service.remote.setNodes('poll', [])
  await settled(service)
  t.match(decisions.slice(1), [
    { decision: 'mesh_remote_drop_load_rebalance_noop', tasks_moved: 0 },
    { decision: 'mesh_remote_drop_queued_route_replay', tasks_moved: 0 }
  ])
})

t.test('without its settings, a drop has no effect', async t => {
  const opened = await openTestOrchestrator(t)
  await unbalanced(opened, 8)
  opened.service.remote.setNodes('poll', nodes(2))
  opened.service.remote.setNodes('poll', [])
  await settled(opened.service)
  t.same(
    opened.decisions.filter(each => !('task_id' in each)),
    []
  )
  t.match(opened.service.agents(), [{ queued: 8 }, { queued: 0 }])
})

t.test('drops that follow each other are handled together', async t => {
  const opened = await openTestOrchestrator(t, { settings: DROP })
  const { service, decisions } = opened
  for (let count = 20; count >= 0; count -= 1) service.remote.setNodes('poll', nodes(count))
  await settled(service)
  const replays = decisions.filter(
    each => 'decision' in each && each.decision === 'mesh_remote_drop_queued_route_replay'
  )
  t.equal(replays.length, 2, 'one for the first drop, and one for all others')
})

t.test('routes of 2,000 queued tasks are replayed with one decision each, and no held task moves', async t => {
  const placer = new FakePlacer()
  placer.wants = ({ description }) => description === 'Elsewhere'
  placer.answer = () => ({ mesh_node_id: 'gpu-1' })
  const opened = await openTestOrchestrator(t, { placers: [placer], settings: DROP })
  const { service, world } = opened
  await service.spawnAgent({ name: 'one' })
  await service.submit({ description: 'Elsewhere', files: [] })
  await unbalanced(opened, 1_999)
  service.remote.setNodes('poll', nodes(1_000))
  let decisions = 0
  const { route } = world.router
  world.router.route = task => {
    decisions += 1
    return route.call(world.router, task)
  }
  const turns = await turnsUntil(service.replayQueuedRoutes())
  t.ok(turns.count > 5, 'other work runs between the slices')
  t.ok(turns.result > 500)
  t.equal(decisions, 1_999)
  t.match(service.task(1), { status: { kind: 'InProgress' }, agent_id: 1, remote: { mesh_node_id: 'gpu-1' } })
  const again = await service.replayQueuedRoutes()
  t.equal(again, 0, 'the loads are equal now')
})

t.test('a task stays with its agent if a file is locked elsewhere, or if it was requested by name', async t => {
  const { service } = await openTestOrchestrator(t)
  await service.spawnAgent({ name: 'one' })
  await service.spawnAgent({ name: 'two' })
  const files = [{ path: 'a.ts', access: 'write' as const }]
  await service.submit({ description: 'Write it', files, agent_name: 'one' })
  for (let more = 0; more < 5; more += 1) await service.submit({ description: 'Named', files: [], agent_name: 'one' })
  t.equal(await service.replayQueuedRoutes(), 0)
  t.match(service.agents(), [{ queued: 6 }, { queued: 0 }])
})

t.test('a decision costs the same with 10 and with 1,000 nodes', async t => {
  const { service } = await openTestOrchestrator(t, { settings: { mesh_routing_experimental: true } })
  let reads = 0
  const counted = (many: readonly RemoteNode[]) =>
    many.map(each => {
      const { quarantined } = each
      return Object.defineProperty({ ...each }, 'quarantined', {
        enumerable: true,
        get: () => {
          reads += 1
          return quarantined
        }
      })
    })
  const submit = (count: number) =>
    Promise.all(Array.from({ length: count }, () => service.submit({ description: 'Do it', files: [] })))
  service.remote.setNodes('poll', counted(nodes(1_000)))
  const atUpdate = reads
  await submit(100)
  t.equal(reads, atUpdate, 'nodes are only examined when their list changes')
})

interface Settling {
  settled(): Promise<void>
}

const settled = (service: TestOrchestrator['service']) => (service.remote as unknown as Settling).settled()

async function turnsUntil<A>(work: Promise<A>): Promise<{ readonly count: number; readonly result: A }> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  let count = 0
  while (!isDone) {
    await new Promise(setImmediate)
    count += 1
  }
  return { count, result: await done }
}
