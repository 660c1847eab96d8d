import type { Attestation } from '@svc/contracts'
import t from 'tap'
import { openTestOrchestrator } from './test-orchestrator.ts'

const DONE: Attestation = { checks_passed: ['tests', 'peer_review_approved'] }
const task = (description = 'Do it') => ({ description, files: [] })
const writes = (...paths: string[]) => ({
  description: 'Change them',
  files: paths.map(path => ({ path, access: 'write' as const }))
})

t.test('completing a queued task starts it first, even if another is in progress', async t => {
  const { service } = await openTestOrchestrator(t)
  await service.submit(task())
  await service.submit(task())
  await service.next(1)
  t.same(await service.complete(2, DONE), { completed: true })
  t.ok((service.task(2)?.started_at_ms ?? 0) > 0)
  t.match(service.agent(1), { current_task: 1, completed: 1 })
})

t.test('rejects the second of two concurrent completions of a task', async t => {
  const { service } = await openTestOrchestrator(t)
  await service.submit(task())
  const outcomes = await Promise.allSettled([service.complete(1, DONE), service.complete(1, DONE)])
  t.match(outcomes, [
    { status: 'fulfilled', value: { completed: true } },
    { status: 'rejected', reason: { code: 'ORC_TRANSITION', message: /^Task T-0001 is Completed/ } }
  ])
  t.equal(service.status().total_completed, 1)
})

t.test('a gate requeues a task with a note, and the completion names the gate', async t => {
  const { service, emitted } = await openTestOrchestrator(t, {
    settings: { stubcheck_gate: true, max_stubcheck_debug_iterations: 2 }
  })
  await service.submit(task())
  await service.next(1)
  const completion = await service.complete(1)
  t.match(completion, { completed: false, requeued: { gate: 'stubcheck', iteration: 1 } })
  const view = service.task(1)
  t.match(view, { status: { kind: 'Queued' }, debug_iterations: 0, stubcheck_iterations: 1 })
  t.match(view?.description, /^Do it\s+\[/)
  t.ok(emitted().includes('task_requeued'))
  t.match(await service.next(1), { id: 1 }, 'the requeued task can be claimed again')
  t.ok((service.explain(1)?.gates.length ?? 0) > 0)
})

t.test('a task is blocked until all its dependencies are completed', async t => {
  const { service } = await openTestOrchestrator(t)
  await service.submit({ ...task(), agent_name: 'one' })
  await service.submit({ ...task(), agent_name: 'two' })
  const third = await service.submit({ ...task(), agent_name: 'three', depends_on: [1, 2] })
  t.equal(third.status, 'Blocked')
  t.same(service.task(3)?.status, { kind: 'Blocked', on: 1 })
  await t.rejects(service.complete(3, DONE), { code: 'ORC_TRANSITION', message: /^Task T-0003 is Blocked/ })
  t.equal(await service.next(3), null)
  await service.complete(1, DONE)
  t.same(service.task(3)?.status, { kind: 'Blocked', on: 2 })
  await service.complete(2, DONE)
  t.match(await service.next(3), { id: 3 })
  t.equal(
    (await service.submit({ ...task(), depends_on: [1] })).status,
    'Queued',
    'a completed dependency does not block'
  )
})

t.test('cancelling a task cancels the tasks that depend on it, even a chain of thousands', async t => {
  const { service } = await openTestOrchestrator(t)
  await service.submit(task())
  for (let each = 1; each <= 3_000; each++) await service.submit({ ...task(), depends_on: [each] })
  await service.cancel(1)
  t.match(service.status(), { total_cancelled: 3_001, total_blocked: 0 })
  await t.rejects(service.submit({ ...task(), depends_on: [3_001] }), {
    code: 'ORC_DEPENDENCY',
    message: /is Cancelled/
  })
})

t.test('rejects a dependency on itself or on an unknown task', async t => {
  const { service } = await openTestOrchestrator(t)
  for (const on of [1, 99, -1, 1.5, Number.NaN])
    await t.rejects(service.submit({ ...task(), depends_on: [on] }), { code: 'ORC_DEPENDENCY', message: /^Dependency/ })
  t.same(service.tasks(), [])
})

t.test('requires_approval parks a task until it is approved', async t => {
  const { service, emitted } = await openTestOrchestrator(t)
  await service.submit(task('The first'))
  const parked = await service.submit({ ...task(), depends_on: [1], hints: { requires_approval: true } })
  t.equal(parked.status, 'BlockedOnApproval')
  await service.approve(2, 'Ada')
  t.same(service.task(2)?.status, { kind: 'Blocked', on: 1 }, 'an approved task still waits for its dependency')
  await service.complete(1, DONE)
  t.equal(service.task(2)?.status.kind, 'Queued')
  await t.rejects(service.approve(2, 'Ada'), { code: 'ORC_TRANSITION' })
  t.ok(emitted().includes('task_approved'))
})

t.test('rejects a task beyond the repository, unless a human approved it or enforcement is off', async t => {
  const { service, settings } = await openTestOrchestrator(t)
  const deploy = 'Deploy to production'
  await t.rejects(service.submit(task(deploy)), { code: 'ORC_APPROVAL_BLOCKED', message: /^Approval blocked: / })
  t.equal((await service.submit(task(`${deploy} [human-approved]`))).status, 'Queued')
  t.equal(service.task(1)?.approval_tier, 'Review')
  const approvals = ['human_review_approved']
  t.equal((await service.submit({ ...task(deploy), approvals })).status, 'Queued')
  t.equal((await service.submit({ ...task(deploy), hints: { requires_approval: true } })).status, 'BlockedOnApproval')
  await service.approve(3, 'Ada')
  t.equal(service.task(3)?.approval_tier, 'Review', 'approval turns Blocked into Review')
  Object.assign(settings, { tier_enforcement: false })
  t.equal((await service.submit(task(deploy))).status, 'Queued')
  t.equal(service.agents().length, 1, 'rejected submits create no agent')
})

t.test('a task can be cancelled in every unfinished state, and its worker is notified', async t => {
  const { service, emitted } = await openTestOrchestrator(t)
  await service.submit(task())
  await service.next(1)
  const signal = service.taskSignal(1)
  await service.cancel(1)
  t.ok(signal.aborted)
  t.match(signal.reason, { message: /^Task T-0001 is no longer in progress: cancelled/ })
  await service.submit(task())
  await service.cancel(2)
  await service.submit({ ...task(), hints: { requires_approval: true } })
  await service.cancel(3)
  await service.submit(task())
  await service.doubt(4, 'odd')
  await service.cancel(4)
  await service.submit(task())
  await service.fail(5, 'broken')
  await service.cancel(5)
  t.match(service.status(), { total_cancelled: 5, total_failed: 0 })
  await t.rejects(service.cancel(5), { code: 'ORC_TRANSITION', message: /^Task T-0005 is Cancelled/ })
  t.equal(emitted().filter(type => type === 'task_cancelled').length, 5)
  t.ok(service.taskSignal(5).aborted)
})

t.test('a failed task can be retried up to the limit, by another agent if its own has left', async t => {
  const { service } = await openTestOrchestrator(t, { settings: { max_task_retries: 2 } })
  await service.submit({ ...task(), agent_name: 'one' })
  for (let attempt = 0; attempt < 2; attempt++) {
    await service.fail(1, 'it broke')
    t.same(service.task(1)?.status, { kind: 'Failed', reason: 'it broke' })
    await service.retry(1)
    t.equal(service.task(1)?.status.kind, 'Queued')
  }
  await service.fail(1, 'it broke')
  await t.rejects(service.retry(1), { code: 'ORC_TRANSITION', message: /limit of 2 retries/ })
  await service.submit({ ...task(), agent_name: 'one' })
  await service.fail(2, 'it broke')
  await service.retireAgent(1)
  await service.retry(2)
  t.match(service.task(2), { status: { kind: 'Queued' }, agent_id: 2 })
  t.match(await service.next(2), { id: 2 })
})

t.test('a doubted task waits until the doubt is resolved', async t => {
  const { service, emitted, modes } = await openTestOrchestrator(t)
  await service.submit({ ...task(), session_id: 'sess_1' })
  await service.submit(task())
  await service.next(1)
  await service.doubt(1, 'the numbers do not add up')
  await service.doubt(2, null)
  t.match(service.task(1), { status: { kind: 'Doubted', reason: 'the numbers do not add up' }, role: 'verifier' })
  t.match(service.agent(1), { doubted: 2, queued: 0, current_task: null })
  t.equal(await service.next(1), null)
  await service.resolveDoubt(1, 'validated', 'they do')
  t.match(service.task(1), { status: { kind: 'Queued' }, audit_report: 'they do' })
  await service.resolveDoubt(2, 'overruled', 'never mind')
  t.match(service.task(2), { status: { kind: 'Completed' }, audit_report: 'OVERRULED: never mind' })
  await t.rejects(service.resolveDoubt(2, 'validated', ''), { code: 'ORC_TRANSITION' })
  t.same(modes, [
    ['sess_1', { verification: { reason: 'the numbers do not add up' } }],
    ['sess_1', null]
  ])
  t.ok(emitted().includes('task_doubted'))
  t.ok(emitted().includes('task_resolved'))
})

t.test('serves urgent tasks first, and reorders queued tasks', async t => {
  const { service } = await openTestOrchestrator(t)
  await service.submit({ ...task(), priority: 'Background' })
  await service.submit(task())
  await service.submit({ ...task(), priority: 'Urgent' })
  await service.submit({ ...task(), priority: 'Background' })
  await service.reorder(4, 'Urgent')
  const order: number[] = []
  for (let next = await service.next(1); next !== null; next = await service.next(1)) {
    order.push(next.id)
    await service.complete(next.id, DONE)
  }
  t.same(order, [3, 4, 2, 1])
  await t.rejects(service.reorder(1, 'Normal'), { code: 'ORC_TRANSITION' })
})

t.test('tasks that wait too long expire, except for those queued again recently', async t => {
  const { service, advanceClock, tick, ends } = await openTestOrchestrator(t, { settings: { task_timeout_ms: 60_000 } })
  await service.submit(task())
  await service.submit(task())
  await service.fail(1, 'broken')
  advanceClock(59_000)
  await service.retry(1)
  advanceClock(2_000)
  await tick()
  t.equal(service.task(2)?.status.kind, 'Cancelled')
  t.equal(service.task(1)?.status.kind, 'Queued')
  await new Promise(setImmediate)
  t.match(ends, [{ outcome: 'failed' }, { task_id: 2, outcome: 'expired' }])
  t.match(service.explain(2)?.trace.at(-1), {
    stage: 'outcome',
    detail: 'expired: no agent started it within 60 s (plugins.orchestrator.task_timeout_ms); submit it again'
  })
})

t.test('a clock that goes back causes no negative durations and changes no order', async t => {
  const { service, advanceClock, events } = await openTestOrchestrator(t)
  await service.submit(task())
  advanceClock(-3_600_000)
  await service.submit(task())
  t.match(await service.next(1), { id: 1 })
  advanceClock(-3_600_000)
  await service.complete(1, DONE)
  const { started_at_ms = 0, ended_at_ms = 0, created_at_ms = 0 } = service.task(1) ?? {}
  t.ok(created_at_ms <= started_at_ms && started_at_ms <= ended_at_ms)
  const times = events.map(each => each.timestamp_ms)
  t.same(times, [...times].sort())
})

t.test('remembers the last 1,000 ended tasks, and those that others wait for', async t => {
  const { service } = await openTestOrchestrator(t)
  await service.submit(task())
  await service.fail(1, 'broken')
  await service.submit({ ...task(), depends_on: [1] })
  for (let each = 3; each <= 1_203; each++) {
    await service.submit(task())
    await service.complete(each, DONE)
  }
  t.equal(service.task(3), null)
  t.equal(service.task(1)?.status.kind, 'Failed')
  t.equal(service.task(1_203)?.status.kind, 'Completed')
  t.equal(service.tasks({ status: 'Completed' }).length, 999)
  await t.rejects(service.complete(3, DONE), { code: 'ORC_TASK_NOT_FOUND', message: 'Task T-0003 not found' })
})

t.test('a lock excludes other agents until its task ends or it times out; a task waits for a locked file', async t => {
  const { service, advanceClock, tick } = await openTestOrchestrator(t, { settings: { tier_enforcement: false } })
  await service.submit({ ...writes('a.ts'), agent_name: 'one' })
  await t.rejects(service.submit({ ...writes('a.ts'), agent_name: 'two' }), {
    code: 'ORC_LOCK_CONFLICT',
    message: 'Lock conflict: a.ts: A-01 writes it'
  })
  t.equal(service.status().total_contention, 1)
  await service.submit({ ...writes('./a.ts'), agent_name: 'one' })
  t.match(service.locks(), [{ path: 'a.ts', kind: 'exclusive', holders: [1] }])
  advanceClock(31_000)
  await tick()
  t.same(service.locks(), [], 'the lock has timed out')
  const other = await service.submit({ ...writes('a.ts'), agent_name: 'two' })
  t.equal(await service.next(1), null, 'another agent has locked the file')
  t.match(service.task(1)?.status, { kind: 'Queued' })
  const woken = service.wake(1, AbortSignal.timeout(30_000))
  await service.complete(other.task_id, DONE)
  await woken
  t.match(await service.next(1), { id: 1 })
  for (let each = 0; each < 3; each++) {
    advanceClock(20_000)
    service.heartbeat(1, 'writing')
    await tick()
  }
  t.match(service.locks(), [{ path: 'a.ts', holders: [1] }], 'heartbeats renew the lock')
})

t.test('reports or rejects writes outside the files of an agent', async t => {
  const { service, settings, emitted } = await openTestOrchestrator(t, { settings: { tier_enforcement: false } })
  await service.submit({ ...writes('src/a/x.ts'), agent_name: 'one' })
  await service.submit({ ...writes('src/a/x.ts'), agent_name: 'one' })
  t.notOk(emitted().includes('scope_violation'))
  await service.submit({ ...writes('docs/y.md'), agent_name: 'one' })
  t.equal(emitted().filter(type => type === 'scope_violation').length, 1)
  Object.assign(settings, { scope_enforcement: 'strict' })
  await t.rejects(service.submit({ ...writes('other.md'), agent_name: 'one' }), {
    code: 'ORC_SCOPE_DENIED',
    message: /^Scope denied: /
  })
  await new Promise(setImmediate)
  t.equal(emitted().filter(type => type === 'scope_violation').length, 2, 'a rejected violation is reported too')
  await service.claimFile(1, 'other.md')
  t.equal((await service.submit({ ...writes('other.md'), agent_name: 'one' })).status, 'Queued')
  t.equal(service.fileOwner('other.md'), 1)
})

t.test('reads markers and tokens of a description', async t => {
  const { service } = await openTestOrchestrator(t)
  await service.submit(
    task('Look [[tool:grep]] at [[research:locks]] [[category:research]] campaign:spring tier:repo_regen')
  )
  t.match(service.task(1), {
    tool_hints: ['grep'],
    research_hints: ['locks'],
    category: 'Research',
    role: 'researcher',
    campaign_id: 'spring',
    benchmark_tier: 'repo_regen'
  })
})
