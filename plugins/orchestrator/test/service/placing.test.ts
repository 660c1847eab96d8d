import type { RemoteDelegate } from '@svc/contracts'
import t from 'tap'
import { FakePlacer, PLACED } from './fake-placer.ts'
import { openTestOrchestrator, type TestOrchestrator } from './test-orchestrator.ts'

const DONE = { completion_summary: 'Done elsewhere, with tests.', checks_passed: ['peer_review_approved'] }
const task = { description: 'Train it', files: [] }

type Options = NonNullable<Parameters<typeof openTestOrchestrator>[1]>

/** Opens an orchestrator with a placer, and records withdrawals. */
async function open(t: { teardown(run: () => unknown): unknown }, options: Options = {}) {
  const placer = new FakePlacer()
  const orchestrator = await openTestOrchestrator(t, { ...options, placers: [placer, ...(options.placers ?? [])] })
  const withdrawn: [task: number, key: string, why: string][] = []
  const delegates: RemoteDelegate[] = []
  orchestrator.service.remote.withdrawn((id, delegate, why) => {
    withdrawn.push([id, delegate.idempotency_key, why])
    delegates.push(delegate)
  })
  return { ...orchestrator, placer, remote: orchestrator.service.remote, withdrawn, delegates }
}

/** Submits a task, which another machine takes. Returns its key. */
async function held({ service, placer }: { service: TestOrchestrator['service']; placer: FakePlacer }, request = task) {
  const submitting = service.submit(request)
  const { task: placing, resolve } = await placer.next()
  resolve()
  const submitted = await submitting
  return { ...submitted, key: placing.remote.idempotency_key }
}

const turn = () => new Promise(setImmediate)

t.test('a task that a placer wants is held from its creation, placed, and then confirmed', async t => {
  const opened = await open(t)
  const { service, placer, remote, events } = opened
  const submitting = service.submit({ ...task, session_id: 'sess_1' })
  const { task: placing, resolve } = await placer.next()
  const key = `orch-remote-1-${placing.created_at_ms}`
  t.match(placing, { id: 1, status: { kind: 'InProgress' }, remote: { idempotency_key: key, placer: 'fake' } })
  t.match(service.task(1), { status: { kind: 'InProgress' }, remote: { confirmed: false } })
  t.match(service.explain(1)?.placement, { surface: 'remote', because: 'Fake is placing the task on another machine.' })
  t.equal(await service.next(1), null, 'no local worker gets it')
  resolve()
  t.match(await submitting, { task_id: 1, status: 'InProgress' })
  const delegate = { idempotency_key: key, placer: 'fake', confirmed: true, ...PLACED }
  t.match(service.task(1), { placement_reason: 'mesh_remote_lease_hold', remote: delegate })
  t.same(remote.held(), [{ task_id: 1, agent_id: 1, delegate, since_ms: placing.created_at_ms }])
  const kinds = events.map(({ kind }) => kind).filter(({ type }) => type.startsWith('task_'))
  t.same(kinds, [
    { type: 'task_submitted', task_id: 1, agent_id: 1, description: 'Train it', session_id: 'sess_1' },
    {
      type: 'task_placed',
      task_id: 1,
      agent_id: 1,
      placement_reason: 'mesh_remote_lease_hold',
      lease_id: '7',
      mesh_node_id: 'gpu-1',
      claimer_node_id: 'orch-1'
    },
    { type: 'task_started', task_id: 1, agent_id: 1, session_id: 'sess_1' }
  ])
  t.match(service.explain(1), {
    placement: {
      surface: 'remote',
      reason: 'mesh_remote_lease_hold',
      because: 'The task runs on gpu-1 with lease 7, placed by fake.',
      delegate
    },
    trace: [{ stage: 'ingress' }, { stage: 'routed' }, { stage: 'mesh_remote_held' }]
  })
  t.equal(await remote.complete(1, key, DONE), 'done')
  t.match(service.task(1), { status: { kind: 'Completed' }, remote: delegate })
  t.match(service.explain(1)?.placement.because, /^The task ran on gpu-1/)
  t.match(service.agent(1), { current_task: null, completed: 1 })
  t.same(opened.withdrawn, [], 'the placer has sent this result itself')
})

t.test('without a placer, a task is queued locally, and the explanation says so', async t => {
  const { service, decisions, settings } = await openTestOrchestrator(t)
  settings.log_level = 'debug'
  t.match(await service.submit(task), { status: 'Queued' })
  t.match(service.explain(1)?.placement, {
    surface: 'local',
    reason: 'local_queue_default',
    because: 'No plugin asked to place the task on another machine.'
  })
  t.match(decisions, [
    { target: 'vox.orchestrator.placement', task_id: 1, agent_id: 1, placement_reason: 'local_queue_default' }
  ])
})

t.test('a task is placed by the first placer that wants it', async t => {
  const broken = new FakePlacer('broken')
  broken.wants = () => {
    throw new Error('no settings')
  }
  const other = new FakePlacer('other')
  const { service, placer, warnings } = await open(t, { placers: [broken, other] })
  placer.wants = ({ role }) => role === 'builder'
  const submitting = service.submit(task)
  const pending = await other.next()
  t.match(warnings, [/^placer broken: no settings/])
  pending.resolve({})
  t.match(await submitting, { status: 'InProgress' })
  t.match(service.explain(1)?.placement.because, 'The task runs on another machine, placed by other.')
})

t.test('a task is queued locally if its agent is busy or paused, or if it cannot start yet', async t => {
  const opened = await open(t)
  const { service, placer } = opened
  const first = await held(opened)
  t.match(await service.submit(task), { status: 'Queued', agent_id: first.agent_id })
  t.match(service.explain(2)?.placement, { surface: 'local', because: 'A-01 was busy.' })
  t.match(await service.submit({ ...task, agent_name: 'two', depends_on: [1] }), { status: 'Blocked' })
  t.match(await service.submit({ ...task, agent_name: 'two', hints: { requires_approval: true } }), {
    status: 'BlockedOnApproval'
  })
  await service.pauseAgent(2)
  await service.submit({ ...task, agent_name: 'two' })
  t.match(service.explain(5)?.placement, { because: 'A-02 was paused.' })
  await service.approve(4, 'Ada')
  await service.complete(1, DONE)
  t.match(service.tasks().slice(1), Array(4).fill({ status: { kind: 'Queued' } }), 'tasks are placed only when created')
  t.equal(placer.pending.length, 0)
})

t.test('a task that no node has the memory for is queued locally', async t => {
  const { service, placer, remote } = await open(t)
  const node = { labels: [], has_gpu: true, maintenance: false, quarantined: false, heartbeat_stale: false }
  remote.setNodes('poll', [
    { ...node, node_id: 'a', capabilities: { min_vram_mb: 8_000 } },
    { ...node, node_id: 'b', capabilities: { min_vram_mb: 80_000 }, quarantined: true }
  ])
  await service.submit({ ...task, capabilities: { min_vram_mb: 16_000 } })
  t.match(service.explain(1)?.placement, {
    reason: 'local_queue_fallback_insufficient_vram',
    because: 'It requires 16000 MiB of GPU memory; the available nodes have up to 8000 MiB.'
  })
  t.equal(placer.pending.length, 0)
  remote.setNodes('poll', [])
  await service.cancel(1)
  void service.submit({ ...task, capabilities: { min_vram_mb: 16_000 } }).catch(() => {})
  t.match((await placer.next()).task.id, 2, 'without known nodes, the placer decides')
})

t.test('a failed placement queues the task locally, and never places it again', async t => {
  const opened = await open(t)
  const { service, placer, emitted } = opened
  const submitting = service.submit(task)
  ;(await placer.next()).reject(new Error('connect ECONNREFUSED 10.0.0.7:9847'))
  t.match(await submitting, { status: 'Queued' })
  t.match(service.task(1), {
    status: { kind: 'Queued' },
    placement_reason: 'local_queue_fallback_after_remote_relay_error',
    remote: undefined
  })
  t.match(service.explain(1)?.placement, {
    surface: 'local',
    because: 'Another machine did not do the task: connect ECONNREFUSED 10.0.0.7:9847.'
  })
  t.same(emitted(), ['agent_spawned', 'task_submitted', 'task_placed'])
  t.match(await service.next(1), { id: 1 })
  await service.fail(1, 'broken')
  await service.retry(1)
  t.match(service.task(1), { status: { kind: 'Queued' } })
  t.equal(placer.pending.length, 0)
  t.same(opened.withdrawn, [], 'nothing was placed')
})

t.test('a placement with a field of a wrong type fails', async t => {
  const { service, placer } = await open(t)
  placer.answer = () => ({ lease_id: 7 }) as never
  t.match(await service.submit(task), { status: 'Queued' })
  t.match(service.explain(1)?.placement.because, /lease_id of a placement is not a string/)
})

t.test(
  'a task that is cancelled while it is being placed: the signal aborts, and a late placement is withdrawn',
  async t => {
    const opened = await open(t)
    const { service, placer, withdrawn, delegates } = opened
    const submitting = service.submit(task)
    const { signal, resolve, task: placing } = await placer.next()
    await service.cancel(1)
    t.ok(signal.aborted)
    t.match(await submitting, { task_id: 1, status: 'Cancelled' })
    const key = placing.remote.idempotency_key
    t.same(withdrawn, [[1, key, 'cancelled']])
    t.match(delegates, [{ confirmed: false }])
    resolve()
    await turn()
    await turn()
    t.same(withdrawn[1], [1, key, 'moved'])
    t.match(delegates[1], { confirmed: true, ...PLACED })
  }
)

t.test('a task is cancelled before its placer is called', async t => {
  const { service, placer, withdrawn } = await open(t)
  const submitting = service.submit(task)
  await service.cancel(1)
  t.match(await submitting, { status: 'Cancelled' })
  t.equal(placer.pending.length, 0)
  t.equal(withdrawn.length, 1)
})

t.test('a result that is faster than the confirmation is used, and the placement is withdrawn', async t => {
  const opened = await open(t)
  const { service, placer, remote, withdrawn, delegates } = opened
  const submitting = service.submit(task)
  const { task: placing, resolve } = await placer.next()
  const key = placing.remote.idempotency_key
  t.equal(await remote.complete(1, key, DONE), 'done')
  resolve()
  t.match(await submitting, { status: 'Completed' })
  t.match(service.task(1), { placement_reason: 'mesh_remote_lease_hold', remote: { confirmed: true, ...PLACED } })
  await turn()
  t.same(withdrawn, [[1, key, 'moved']], 'so that its lease is released')
  t.match(delegates, [PLACED])
})

t.test('only one of several results is used; results of other holds are stale', async t => {
  const opened = await open(t)
  const { service, remote } = opened
  const { key } = await held(opened)
  t.equal(await remote.complete(1, `${key}0`, DONE), 'stale')
  t.equal(await remote.fail(1, 'orch-remote-1-1', 'late'), 'stale')
  t.equal(await remote.fallBack(1, '', 'late'), 'stale')
  t.equal(await remote.complete(99, key, DONE), 'stale')
  t.match(service.task(1), { status: { kind: 'InProgress' } })
  const outcomes = await Promise.all([
    remote.complete(1, key, DONE),
    remote.fail(1, key, 'both'),
    remote.complete(1, key, DONE),
    remote.fallBack(1, key, 'late')
  ])
  t.same([...outcomes].sort(), ['done', 'stale', 'stale', 'stale'])
  t.match(service.status(), { total_completed: outcomes[1] === 'done' ? 0 : 1, total_in_progress: 0, total_queued: 0 })
})

t.test('a remote error fails the task', async t => {
  const opened = await open(t)
  const { key } = await held(opened)
  t.equal(await opened.remote.fail(1, key, 'CUDA out of memory'), 'done')
  t.match(opened.service.task(1), {
    status: { kind: 'Failed', reason: 'CUDA out of memory' },
    remote: { mesh_node_id: 'gpu-1' }
  })
  await opened.service.retry(1)
  t.match(opened.service.task(1), { status: { kind: 'Queued' }, remote: undefined })
  t.same(opened.withdrawn, [])
})

t.test('after a fallback, the result of the earlier worker is stale', async t => {
  const opened = await open(t)
  const { service, remote, withdrawn } = opened
  const { key } = await held(opened)
  t.equal(await remote.fallBack(1, key, 'lease-renew: 409'), 'queued')
  t.match(service.task(1), {
    status: { kind: 'Queued' },
    placement_reason: 'local_queue_fallback_after_remote_relay_error'
  })
  t.match(await service.next(1), { id: 1 })
  t.equal(await remote.complete(1, key, DONE), 'stale')
  t.match(service.task(1), { status: { kind: 'InProgress' } })
  t.same(withdrawn, [], 'the placer has withdrawn its work itself')
})

t.test('a gate can send a remote result back to the local queue', async t => {
  const opened = await open(t, { settings: { stubcheck_gate: true } })
  const { service, remote } = opened
  const { key } = await held(opened)
  t.equal(await remote.complete(1, key, { checks_passed: ['peer_review_approved'] }), 'done')
  t.match(service.task(1), {
    status: { kind: 'Queued' },
    stubcheck_iterations: 1,
    placement_reason: 'local_queue_default',
    remote: undefined
  })
  t.match(service.explain(1)?.placement.because, 'The gate stubcheck sent the remote result back.')
  t.equal(await remote.complete(1, key, DONE), 'stale')
})

t.test('a result that a gate rejects leaves the task held', async t => {
  const opened = await open(t, { settings: { max_debug_iterations: 0 } })
  const { remote } = opened
  const { key } = await held(opened, { ...task, files: [{ path: 'a.ts', access: 'write' }] as never })
  await t.rejects(remote.complete(1, key, {}), { code: 'ORC_ATTESTATION_REQUIRED' })
  t.match(remote.held(), [{ task_id: 1 }])
  t.equal(await remote.complete(1, key, DONE), 'done')
})

t.test('a hold without a result ends after its timeout; its files stay locked until then', async t => {
  const opened = await open(t, { settings: { mesh_remote_lease_timeout_ms: 300_000 } })
  const { service, advanceClock, tick, withdrawn, events, remote } = opened
  const files = [{ path: 'a.ts', access: 'write' as const }]
  const { key } = await held(opened, { ...task, files } as never)
  for (let seconds = 0; seconds < 300; seconds += 20) {
    advanceClock(20_000)
    await tick()
  }
  t.match(service.locks(), [{ path: 'a.ts', holders: [1] }], 'an agent that is silent keeps the lock')
  t.match(remote.held(), [{ task_id: 1 }])
  advanceClock(1)
  await tick()
  t.match(service.task(1), {
    status: { kind: 'Queued' },
    placement_reason: 'local_queue_fallback_after_remote_relay_error'
  })
  t.match(service.explain(1)?.placement.because, 'Another machine did not do the task: no result within 300 s.')
  t.same(withdrawn, [[1, key, 'expired']])
  t.match(
    events.map(({ kind }) => kind).filter(({ type }) => type === 'task_expired'),
    [{ task_id: 1, agent_id: 1, age_ms: 300_001 }]
  )
  t.match(await service.next(1), { id: 1 })
})

const ENDINGS: Readonly<
  Record<string, readonly [run: (service: TestOrchestrator['service']) => unknown, why: string]>
> = {
  cancel: [service => service.cancel(1), 'cancelled'],
  'retirement of its agent': [service => service.retireAgent(1), 'cancelled'],
  doubt: [service => service.doubt(1, 'odd'), 'moved'],
  'local completion': [service => service.complete(1, DONE), 'moved'],
  'local failure': [service => service.fail(1, 'by hand'), 'moved'],
  release: [service => service.release(1, 'by hand'), 'moved']
}

for (const [name, [run, why]] of Object.entries(ENDINGS))
  t.test(`work is withdrawn after its hold was ended by ${name}`, async t => {
    const opened = await open(t)
    const { key } = await held(opened)
    await run(opened.service)
    t.same(opened.withdrawn, [[1, key, why]])
    t.same(opened.remote.held(), [])
    t.equal(await opened.remote.complete(1, key, DONE), 'stale')
    t.notOk(opened.service.task(1)?.remote)
  })

t.test('a retired agent returns a held task without its delegate', async t => {
  const opened = await open(t)
  await held(opened)
  const { tasks } = await opened.service.retireAgent(1)
  t.match(tasks, [{ id: 1, status: { kind: 'Queued' } }])
  t.notOk(tasks[0]?.remote)
})

t.test('held tasks are not drained, rebalanced or handed over', async t => {
  const opened = await open(t)
  const { service, placer } = opened
  const files = [{ path: 'a.ts', access: 'write' }] as never
  await held(opened, { ...task, files })
  placer.wants = () => false
  for (let more = 0; more < 6; more += 1) await service.submit({ ...task, agent_name: 'default' })
  await service.spawnAgent({ name: 'idle' })
  const { agent_id } = service.task(1) ?? { agent_id: 0 }
  const agent = agent_id
  const handoff = {
    from_agent: agent,
    plan_summary: 'the rest',
    verification_criteria: ['works'],
    metadata: [['execution_role', 'builder']] as const
  }
  await t.rejects(service.handoff({ ...handoff, pending_tasks: [1] }), {
    code: 'ORC_HANDOFF_INVALID',
    message: 'Handoff invariant: T-0001, which runs on gpu-1, cannot be handed over'
  })
  await t.rejects(service.handoff({ ...handoff, owned_files: ['a.ts'] }), {
    code: 'ORC_HANDOFF_INVALID',
    message: 'Handoff invariant: a.ts belongs to T-0001, which runs on gpu-1'
  })
  await service.rebalance()
  await service.replayQueuedRoutes()
  await service.drainAgent(agent)
  t.match(service.task(1), { status: { kind: 'InProgress' }, agent_id: agent, remote: { confirmed: true } })
  t.match(service.locks(), [{ path: 'a.ts', holders: [agent] }])
})

t.test('a dead dynamic agent stays until the machine that works for it has answered', async t => {
  const opened = await open(t, { settings: { mesh_remote_lease_timeout_ms: 10_000_000 } })
  const { service, advanceClock, tick, remote } = opened
  await service.spawnAgent({ name: 'other' })
  await service.spawnAgent({ name: 'temporary', dynamic: true })
  const { key } = await held(opened, { ...task, agent_name: 'temporary' } as never)
  for (let beats = 0; beats < 13; beats += 1) {
    advanceClock(60_000)
    await tick()
  }
  t.match(service.agent(2), { name: 'temporary', current_task: 1 })
  t.match(service.task(1), { status: { kind: 'InProgress' }, agent_id: 2 })
  t.equal(await remote.complete(1, key, DONE), 'done')
  advanceClock(60_000)
  await tick()
  t.equal(service.agent(2), null, 'a hold is no sign of life')
})

t.test('after a restart, confirmed holds continue, and unconfirmed ones are queued locally', async t => {
  const { openStore } = await import('../durable/test-persistence.ts')
  const store = await openStore()
  const first = await open(t, { store })
  const one = await held(first)
  const submitting = first.service.submit({ ...task, agent_name: 'two' }).catch((error: unknown) => error)
  const { signal, task: placing } = await first.placer.next()
  await first.close()
  t.ok(signal.aborted)
  t.match(await submitting, { code: 'ORC_CLOSED' })

  const second = await open(t, { store })
  const { service, remote } = second
  t.match(remote.held(), [{ task_id: 1, delegate: { confirmed: true, ...PLACED } }])
  t.match(service.agent(1), { current_task: 1 })
  t.match(service.task(2), {
    status: { kind: 'Queued' },
    recoveries: 1,
    placement_reason: 'local_queue_fallback_after_remote_relay_error',
    remote: undefined
  })
  t.equal(await service.next(1), null)
  t.match(await service.next(2), { id: 2 })
  t.equal(await remote.complete(2, placing.remote.idempotency_key, DONE), 'stale')
  t.equal(await remote.complete(1, one.key, DONE), 'done')
  t.equal(second.placer.pending.length, 0, 'nothing is placed again')
})

t.test('a placement that takes too long fails; if it succeeds later, it is withdrawn', async t => {
  const opened = await open(t, { placeTimeoutMs: 20 })
  const { service, placer, withdrawn, delegates } = opened
  const submitting = service.submit(task)
  const { signal, resolve, task: placing } = await placer.next()
  t.match(await submitting, { status: 'Queued' })
  t.ok(signal.aborted)
  t.match(service.explain(1)?.placement.because, /the task was not placed within 0\.02 s/)
  t.match(await service.next(1), { id: 1 })
  resolve()
  await turn()
  await turn()
  t.same(withdrawn, [[1, placing.remote.idempotency_key, 'moved']])
  t.match(delegates, [PLACED])
  t.match(service.task(1), { status: { kind: 'InProgress' }, remote: undefined }, 'the local worker continues')
})

t.test('a result names the node that executed the task', async t => {
  const opened = await open(t)
  opened.placer.answer = () => ({ lease_id: '7' })
  const { service, remote, placer } = opened
  await service.submit({ ...task, agent_name: 'one' })
  await service.submit({ ...task, agent_name: 'two' })
  const [one, two] = placer.pending.map(each => each.task.remote.idempotency_key) as [string, string]
  t.equal(await remote.complete(1, one, DONE, 'gpu-3'), 'done')
  t.equal(await remote.fail(2, two, 'no memory', 'gpu-4'), 'done')
  t.match(service.tasks(), [
    { remote: { lease_id: '7', mesh_node_id: 'gpu-3' } },
    { remote: { lease_id: '7', mesh_node_id: 'gpu-4' } }
  ])
  t.match(service.explain(1)?.placement.because, 'The task ran on gpu-3 with lease 7, placed by fake.')
})

t.test('a task that came from another machine is not placed', async t => {
  const { service, placer } = await open(t)
  const remote_origin = { idempotency_key: 'orch-remote-9-1' } as never
  t.match(await service.submit({ ...task, remote_origin }), { status: 'Queued' })
  t.equal(placer.pending.length, 0)
})

t.test('while the database is away, a placed task stays held, and is so after a restart', async t => {
  const [{ openStore }, { faulty }] = await Promise.all([
    import('../durable/test-persistence.ts'),
    import('../durable/faulty-store.ts')
  ])
  const store = faulty(await openStore())
  const first = await open(t, { store, settings: { commit_timeout_ms: 1_000, commit_queue_limit: 1 } })
  const submitting = first.service.submit(task)
  const { resolve, task: placing } = await first.placer.next()
  store.away = true
  // Fills the queue of changes, so that further commands are rejected.
  await t.rejects(first.service.spawnAgent({ name: 'two' }), { code: 'ORC_NOT_DURABLE' })
  await t.rejects(first.service.spawnAgent({ name: 'three' }), { code: /^ORC_/ })
  resolve()
  await t.rejects(submitting, { code: 'ORC_NOT_DURABLE' })
  const held = [{ task_id: 1, delegate: { confirmed: true, ...PLACED } }]
  t.match(first.remote.held(), held)
  store.away = false
  await first.close()
  const second = await open(t, { store })
  t.match(second.remote.held(), held)
  t.equal(await second.remote.complete(1, placing.remote.idempotency_key, DONE), 'done')
})

t.test(
  'two held tasks of one agent after a restart with fewer agents: the agent is busy until both have ended',
  async t => {
    const { openStore } = await import('../durable/test-persistence.ts')
    const store = await openStore()
    const first = await open(t, { store })
    const one = await held(first, { ...task, agent_name: 'one' } as never)
    const two = await held(first, { ...task, agent_name: 'two' } as never)
    await first.close()
    const second = await open(t, { store, settings: { max_agents: 1 } })
    const { service, remote, placer } = second
    t.match(remote.held(), [
      { task_id: 1, agent_id: 1 },
      { task_id: 2, agent_id: 1 }
    ])
    placer.wants = () => false
    await service.submit(task)
    t.equal(await remote.complete(1, one.key, DONE), 'done')
    t.equal(await service.next(1), null)
    t.match(service.agent(1), { current_task: 2 })
    t.equal(await remote.complete(2, two.key, DONE), 'done')
    t.match(await service.next(1), { id: 3 })
  }
)

t.test('an error of a listener does not keep others from hearing of withdrawn work', async t => {
  const opened = await open(t)
  const { service, remote, warnings } = opened
  const stop = remote.withdrawn(() => {
    throw new Error('no network')
  })
  const heard: number[] = []
  remote.withdrawn(id => void heard.push(id))
  await held(opened)
  await service.cancel(1)
  await turn()
  t.same(heard, [1])
  t.match(warnings, [/a listener of withdrawn tasks failed: no network/])
  stop()
})
