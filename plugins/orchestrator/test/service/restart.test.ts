import t from 'tap'
import { openStore } from '../durable/test-persistence.ts'
import { openTestOrchestrator } from './test-orchestrator.ts'

const DONE = { checks_passed: ['tests', 'peer_review_approved'] }
const task = (description = 'Do it') => ({ description, files: [] })

t.test('restores the acknowledged state after a restart, and requeues tasks in progress once', async t => {
  const store = await openStore()
  const first = await openTestOrchestrator(t, { store, settings: { tier_enforcement: false } })
  t.equal(first.service.durability.kind, 'database')
  await first.service.spawnAgent({ name: 'one', capabilities: { labels: ['x'] } })
  await first.service.bindSession(1, 'sess_1')
  const files = [{ path: 'a.ts', access: 'write' as const }]
  await first.service.submit({ description: 'In progress', files, agent_name: 'one', hints: { tenant_id: 'acme' } })
  await first.service.submit({ ...task(), agent_name: 'one', depends_on: [1] })
  await first.service.submit({ ...task(), agent_name: 'one', priority: 'Urgent' })
  await first.service.submit({ ...task(), agent_name: 'one', hints: { requires_approval: true } })
  await first.service.submit({ ...task(), agent_name: 'one' })
  await first.service.submit({ ...task(), agent_name: 'one' })
  await first.service.complete(3, DONE)
  await first.service.fail(5, 'broken')
  await first.service.doubt(6, 'odd')
  await first.service.next(1)
  first.service.turn(1, 'half of it')
  first.service.observe(1, 'it is large')
  await first.service.budgets.record({
    agent_id: 1,
    provider: 'p',
    model: 'm',
    input_tokens: 10,
    output_tokens: 5,
    cost_usd: 0.5
  })
  await first.service.emergencyStop('night')
  const before = first.service.tasks()
  const trust = first.service.trust.of(1)
  await first.close()

  const second = await openTestOrchestrator(t, { store, settings: { tier_enforcement: false } })
  const { service } = second
  t.ok(service.status().stopped)
  await service.start()
  t.same(
    service.tasks().map(each => each.status.kind),
    ['Queued', 'Blocked', 'Completed', 'BlockedOnApproval', 'Failed', 'Doubted']
  )
  const { status, started_at_ms, recoveries, ...rest } = before[0] ?? ({} as never)
  t.match(service.task(1), { ...rest, recoveries: 1 })
  t.match(service.agent(1), { name: 'one', session_id: 'sess_1', completed: 1, doubted: 1, queued: 1 })
  t.match(service.agent(1)?.capabilities.labels, ['x'])
  t.same(service.trust.of(1), trust)
  t.match(service.budgets.of(1), { tokens_used: 15, cost_usd: 0.5 })
  t.match(service.locks(), [{ path: 'a.ts', holders: [1], task_id: 1 }])
  t.match(service.status(), { total_completed: 1, total_failed: 1 })
  t.match(await service.next(1), { id: 1 })
  await service.complete(1, DONE)
  t.match(await service.next(1), { id: 2 }, 'a task that depended on it is queued')
  t.equal((await service.submit(task())).task_id, 7, 'ids continue without gaps')
})

t.test('restores the routing reasons and gate results of a task after a restart', async t => {
  const store = await openStore()
  const settings = { tier_enforcement: false, qgate_gate_shadow: true, affinity_groups: [] }
  const first = await openTestOrchestrator(t, { store, settings })
  const files = [{ path: 'a.ts', access: 'write' as const }]
  await first.service.submit({ description: 'Own it', files, agent_name: 'one' })
  await first.service.submit({ description: 'Change it again', files })
  for (const id of [1, 2]) await first.service.complete(id, DONE)
  const before = first.service.explain(2)
  await first.close()
  const second = await openTestOrchestrator(t, { store, settings })
  const after = second.service.explain(2)
  t.match(after?.routing, { agent_id: 1, rule: 'highest_score' })
  const [candidate] = after?.routing.candidates ?? []
  t.equal(candidate?.score, before?.routing.candidates[0]?.score)
  t.ok(candidate?.terms.some(({ term, value }) => term === 'owned_files' && value === 10))
  const verdicts = (explanation: typeof after) =>
    explanation?.gates.filter(gate => gate.verdict !== 'skipped').map(({ gate, verdict }) => `${gate} ${verdict}`)
  t.same(verdicts(after), verdicts(before))
  t.ok((after?.gates.length ?? 0) > 0)
})

t.test('restoring the state of an ended process never exceeds max_agents', async t => {
  const store = await openStore()
  const first = await openTestOrchestrator(t, { store, settings: { tier_enforcement: false, affinity_groups: [] } })
  for (let at = 0; at < 6; at += 1) {
    const files = [{ path: `src/${at}.ts`, access: 'write' as const }]
    await first.service.submit({ description: `Change ${at}`, files, agent_name: `agent-${at}` })
  }
  t.equal(first.service.agents().length, 6)
  await first.close()
  const second = await openTestOrchestrator(t, {
    store,
    settings: { tier_enforcement: false, max_agents: 2, affinity_groups: [] }
  })
  t.same(
    second.service.agents().map(({ id }) => id),
    [1, 2]
  )
  const tasks = second.service.tasks()
  t.equal(tasks.length, 6)
  t.ok(tasks.every(({ agent_id }) => agent_id <= 2))
  t.equal(second.service.status().total_queued, 6)
  for (const { id, agent_id } of tasks) {
    t.match(await second.service.next(agent_id), { id: Number })
    t.match(await second.service.complete(id, DONE), { completed: true })
  }
  await second.close()
  const third = await openTestOrchestrator(t, { store })
  t.equal(third.service.agents().length, 2, 'the records of retired agents are deleted')
})

t.test('writes changed reliabilities of agents to their table once a second', async t => {
  const store = await openStore()
  const { service, tick } = await openTestOrchestrator(t, { store })
  const rows = async () =>
    (await store.query('SELECT agent_id, reliability, success_count, failure_count FROM agent_reliability')).rows
  for (const end of ['complete', 'complete', 'fail'] as const) {
    const { task_id } = await service.submit(task())
    await (end === 'fail' ? service.fail(task_id, 'broken') : service.complete(task_id, DONE))
  }
  t.same(await rows(), [])
  await tick()
  t.same(await rows(), [['1', 0.6, 2, 1]])
  const { task_id } = await service.submit(task())
  await service.complete(task_id, DONE)
  await tick()
  t.same(await rows(), [['1', 4 / 6, 3, 1]])
})

t.test('releases a lock without a task at the next start', async t => {
  const store = await openStore()
  const first = await openTestOrchestrator(t, { store, settings: { tier_enforcement: false } })
  const files = [{ path: 'a.ts', access: 'write' as const }]
  await first.service.submit({ description: 'x', files })
  await first.close()
  await store.execute(`DELETE FROM orchestrator_records WHERE kind = 'task'`)
  const second = await openTestOrchestrator(t, { store, settings: { tier_enforcement: false } })
  t.same(second.service.locks(), [])
  t.equal(second.service.fileOwner('a.ts'), 1)
})

t.test('reports the end of a task once, after it is durable', async t => {
  const store = await openStore()
  const { service, ends, settings } = await openTestOrchestrator(t, { store })
  await service.submit(task())
  await service.complete(1, DONE)
  const rows = await store.query(`SELECT value FROM orchestrator_records WHERE kind = 'task'`)
  t.match(String(rows.rows[0]?.[0]), /"Completed"/)
  await new Promise(setImmediate)
  t.match(ends, [{ task_id: 1, outcome: 'completed' }])
  t.ok(settings.enabled)
})

t.test('the lineage of a completed task names its phase and the passed gates', async t => {
  const store = await openStore()
  const { service } = await openTestOrchestrator(t, { store, settings: { stubcheck_gate: true } })
  await service.submit({ ...task(), hints: { campaign_id: 'spring' } })
  await service.next(1)
  service.phase(1, 'decide')
  const completion_summary = 'Everything that was required is there.'
  t.match(await service.complete(1, { ...DONE, completion_summary, declared_non_placeholder: true }), {
    completed: true
  })
  const { rows } = await store.query(
    "SELECT payload_json FROM orchestration_lineage_events WHERE kind = 'task_completed' AND task_id = 1"
  )
  t.match(JSON.parse(String(rows[0]?.[0])), {
    phase: 'decide',
    campaign_id: 'spring',
    verification_layers: ['approval', 'stubcheck']
  })
})
