import { orchestrationErrors, rowsByName, type SqlValue } from '@svc/contracts'
import type { OutputOf } from '@svc/plugin-sdk'
import t from 'tap'
import { planExecute, planList, planNew, planReplan, planResume, planStatus } from '#operations'
import type { FakeOrchestrator } from './fake-orchestrator.ts'
import { type OpenPlanning, openPlanning, until } from './open-planning.ts'

const GOAL = 'Add the login page to src/login.ts\nWrite a test for the login page\nUpdate the guide of the login page'

async function executed(opened: OpenPlanning, goal = GOAL): Promise<string> {
  const { session_id } = await opened.kernel.call(planNew, { goal, session_id: 'chat' })
  await opened.kernel.call(planExecute, { session_id })
  return session_id
}

type Status = OutputOf<typeof planStatus>

function statusWhen({ kernel }: OpenPlanning, session_id: string, holds: (status: Status) => boolean): Promise<Status> {
  return until(async () => {
    const status = await kernel.call(planStatus, { session_id })
    return holds(status) ? status : null
  })
}

const nodes = (status: Status) => status.nodes.map(node => `${node.node_id} ${node.status}`)

async function rows({ store }: OpenPlanning, sql: string): Promise<Record<string, SqlValue>[]> {
  return rowsByName(await store.query(sql))
}

/** Waits for the submission after task number `after`, and returns the new task's number. */
function nextTask(fake: FakeOrchestrator, after: number): Promise<number> {
  return until(async () => (fake.requests.length > after ? fake.requests.length : null))
}

t.test('enqueues steps one after the other, and completes the plan with the last', async t => {
  const opened = await openPlanning()
  const { fake, kernel } = opened
  const session_id = await executed(opened)
  t.equal(fake.requests.length, 1)
  t.match(fake.requests[0], {
    description: 'Add the login page to src/login.ts',
    files: [{ path: 'src/login.ts', access: 'write' }],
    session_id: 'chat',
    plan: { session_id, node_id: 'n1', version: 1 },
    hints: { complexity: 3 }
  })
  t.equal(
    fake.requests[0]?.hints?.requires_approval,
    undefined,
    'steps need no approval with planning_auto_mode_enabled'
  )
  t.match(JSON.parse(fake.requests[0]?.execution_policy_json ?? ''), { max_retries: 1, force_risky: false })
  fake.begin(1)
  t.same(nodes(await statusWhen(opened, session_id, each => each.step_counts.in_progress === 1)), [
    'n1 in_progress',
    'n2 pending',
    'n3 pending'
  ])
  await fake.end(1, 'completed')
  await nextTask(fake, 1)
  await fake.end(2, 'completed')
  await nextTask(fake, 2)
  await fake.end(3, 'completed')
  const done = await statusWhen(opened, session_id, each => each.status === 'completed')
  t.match(done, {
    progress: { total: 3, completed: 3, failed: 0 },
    plan_version: 1,
    source: 'database',
    execution_mode: 'auto'
  })
  t.match(await rows(opened, 'SELECT * FROM plan_node_attempts ORDER BY id'), [
    { node_id: 'n1', attempt_no: 1, task_id: 1, outcome: 'completed', latency_ms: 2_500 },
    { node_id: 'n2', attempt_no: 1, task_id: 2, outcome: 'completed', latency_ms: null },
    { node_id: 'n3', attempt_no: 1, task_id: 3, outcome: 'completed' }
  ])
  t.match((await kernel.call(planList, { status: 'completed' })).sessions, [{ session_id, strategy: 'SequentialDag' }])
  t.same((await kernel.call(planExecute, { session_id })).task_ids, [])
  await kernel.close()
})

t.test('steps require approval if planning_auto_mode_enabled is off', async t => {
  const opened = await openPlanning()
  opened.fake.planning = { ...opened.fake.planning, auto_mode_enabled: false }
  await executed(opened)
  t.equal(opened.fake.requests[0]?.hints?.requires_approval, true)
  t.equal(opened.fake.task(1)?.status.kind, 'BlockedOnApproval')
  await opened.kernel.close()
})

t.test('emits events and lineage rows for a created plan, with the campaign id', async t => {
  const opened = await openPlanning()
  opened.fake.campaign = 'autumn'
  const session_id = await executed(opened)
  t.match(opened.fake.events, [
    { type: 'plan_session_created', plan_session_id: session_id, strategy: 'SequentialDag', version: 1 },
    { type: 'plan_version_created', plan_session_id: session_id, version: 1 }
  ])
  t.match(opened.fake.lineageRows, [
    {
      kind: 'plan_session_created',
      plan_session_id: session_id,
      session_id: 'chat',
      payload: { campaign_id: 'autumn' }
    }
  ])
  await opened.kernel.close()
})

t.test('retries a failed step once, then fails the plan until it is resumed', async t => {
  const opened = await openPlanning()
  const { fake, kernel } = opened
  const session_id = await executed(opened)
  await fake.end(1, 'failed', 'tests failed')
  await nextTask(fake, 1)
  t.match(fake.requests[1]?.plan, { node_id: 'n1', version: 1 })
  await fake.end(2, 'failed', 'tests failed again')
  const failed = await statusWhen(opened, session_id, each => each.status === 'failed')
  t.match(failed.nodes[0], {
    status: 'failed',
    attempts_count: 2,
    last_outcome: 'failed',
    last_error: 'tests failed again'
  })
  const resumed = await kernel.call(planResume, { session_id })
  t.same(resumed.task_ids, [3])
  await fake.end(3, 'completed')
  await nextTask(fake, 3)
  t.match(fake.requests[3]?.plan, { node_id: 'n2' })
  await kernel.close()
})

t.test('replans after a failed retry if the error matches a trigger', async t => {
  const opened = await openPlanning()
  const { fake, kernel } = opened
  fake.planning = { ...fake.planning, replan_enabled: true }
  const session_id = await executed(opened)
  await fake.end(1, 'completed')
  await nextTask(fake, 1)
  await fake.end(2, 'failed', 'tests failed')
  await nextTask(fake, 2)
  await fake.end(3, 'failed', 'tests failed again')
  await nextTask(fake, 3)
  const status = await statusWhen(opened, session_id, each => each.plan_version === 2)
  t.same(nodes(status), ['n1 completed', 'n2 queued', 'n3 pending'])
  t.equal(
    fake.requests[3]?.description,
    'Write a test for the login page (an earlier attempt failed: tests failed again)'
  )
  t.match(
    fake.events.filter(({ type }) => type === 'replan_triggered'),
    [{ plan_session_id: session_id, node_id: 'n2', reason: 'test: tests failed again', next_version: 2 }]
  )
  t.match(
    fake.lineageRows.map(({ kind, plan_node_id }) => [kind, plan_node_id]),
    [
      ['plan_session_created', undefined],
      ['plan_replan_triggered', 'n2']
    ]
  )
  t.match(await rows(opened, 'SELECT node_id, status FROM plan_nodes WHERE version = 1 ORDER BY node_id'), [
    { node_id: 'n1', status: 'completed' },
    { node_id: 'n2', status: 'superseded' },
    { node_id: 'n3', status: 'superseded' }
  ])
  t.match(await rows(opened, 'SELECT parent_version, trigger_event FROM plan_versions WHERE version = 2'), [
    { parent_version: 1, trigger_event: 'step_failed' }
  ])
  await kernel.close()
})

t.test('replans automatically only up to version 5', async t => {
  const opened = await openPlanning()
  const { fake, kernel } = opened
  fake.planning = { ...fake.planning, replan_enabled: true }
  const session_id = await executed(opened)
  for (let task = 1; task <= 10; task++) {
    await nextTask(fake, task - 1)
    await fake.end(task, 'failed', 'does not compile')
  }
  const status = await statusWhen(opened, session_id, each => each.status === 'failed')
  t.equal(status.plan_version, 5)
  t.equal(fake.requests.length, 10)
  t.equal(
    fake.requests[9]?.description,
    'Add the login page to src/login.ts (an earlier attempt failed: does not compile)',
    'the description names the failure only once'
  )
  await kernel.close()
})

t.test('a plan fails if the error matches no trigger', async t => {
  const opened = await openPlanning()
  const { fake, kernel } = opened
  fake.planning = { ...fake.planning, replan_enabled: true }
  const session_id = await executed(opened)
  for (const task of [1, 2]) {
    await nextTask(fake, task - 1)
    await fake.end(task, 'failed', 'no idea')
  }
  t.equal((await statusWhen(opened, session_id, each => each.status === 'failed')).plan_version, 1)
  await kernel.close()
})

t.test('a cancelled task cancels its plan', async t => {
  const opened = await openPlanning()
  const session_id = await executed(opened)
  await opened.fake.cancel(1)
  const status = await statusWhen(opened, session_id, each => each.status === 'cancelled')
  t.same(nodes(status), ['n1 cancelled', 'n2 pending', 'n3 pending'])
  await opened.kernel.close()
})

t.test('ai.plan.replan adds a step for the hint, and cancels tasks of the old version', async t => {
  const opened = await openPlanning()
  const { fake, kernel } = opened
  const session_id = await executed(opened)
  await fake.end(1, 'completed')
  await nextTask(fake, 1)
  const { replan_version, goal, versions } = await kernel.call(planReplan, {
    session_id,
    delta_hint: 'Support passwords of any length'
  })
  t.equal(replan_version, 2)
  t.match(goal, /# Replan context\nSupport passwords of any length$/)
  t.same(
    versions[1]?.steps.map(({ id, description, status }) => [id, description, status]),
    [
      ['n1', 'Add the login page to src/login.ts', 'completed'],
      ['n2', 'Write a test for the login page', 'queued'],
      ['n3', 'Update the guide of the login page', 'pending'],
      ['n4', 'Support passwords of any length', 'pending']
    ]
  )
  t.equal(fake.task(2)?.status.kind, 'Cancelled')
  t.match(fake.requests[2]?.plan, { node_id: 'n2', version: 2 })
  await fake.end(3, 'completed')
  await nextTask(fake, 3)
  t.match(fake.requests[3]?.plan, { node_id: 'n3', version: 2 })
  t.equal((await kernel.call(planStatus, { session_id })).status, 'running')
  await kernel.close()
})

t.test('steps that fail the quality gate are executed only with force_risky_reason', async t => {
  const opened = await openPlanning()
  const { fake, kernel } = opened
  const { session_id } = await kernel.call(planNew, { goal: 'Wipe the staging disk and test that it is empty' })
  await t.rejects(kernel.call(planExecute, { session_id }), {
    code: 'PLN_QUALITY_GATE',
    data: { nodes: [{ node_id: 'n1', codes: ['risk_destructive'] }] }
  })
  t.equal(fake.requests.length, 0)
  t.equal((await kernel.call(planStatus, { session_id })).status, 'pending')
  const { task_ids } = await kernel.call(planExecute, { session_id, force_risky_reason: 'it is a copy' })
  t.same(task_ids, [1])
  t.match(JSON.parse(fake.requests[0]?.execution_policy_json ?? ''), {
    force_risky: true,
    force_risky_reason: 'it is a copy'
  })
  await kernel.close()
})

t.test('a rejected submission fails the plan, but a full queue leaves the step pending', async t => {
  const opened = await openPlanning()
  const { fake, kernel } = opened
  const { session_id } = await kernel.call(planNew, { goal: GOAL })
  fake.refusals.push(orchestrationErrors.create('ORC_QUEUE_FULL', 'Queue full: 9 tasks wait'))
  await t.rejects(kernel.call(planExecute, { session_id }), { code: 'ORC_QUEUE_FULL' })
  t.same(nodes(await kernel.call(planStatus, { session_id })), ['n1 pending', 'n2 pending', 'n3 pending'])
  fake.refusals.push(orchestrationErrors.create('ORC_INJECTION', 'Prompt injection detected: x'))
  await t.rejects(kernel.call(planExecute, { session_id }), { code: 'ORC_INJECTION' })
  const status = await kernel.call(planStatus, { session_id })
  t.match(status, { status: 'failed', nodes: [{ status: 'failed', last_outcome: 'refused' }] })
  t.same((await kernel.call(planResume, { session_id })).task_ids, [1])
  await kernel.close()
})

t.test('operations on an unknown plan throw PLN_SESSION_UNKNOWN', async t => {
  const { kernel } = await openPlanning()
  for (const operation of [planExecute, planStatus, planResume])
    await t.rejects(kernel.call(operation, { session_id: 'plan-none' }), { code: 'PLN_SESSION_UNKNOWN' })
  await t.rejects(kernel.call(planReplan, { session_id: 'plan-none', delta_hint: 'x' }), {
    code: 'PLN_SESSION_UNKNOWN'
  })
  await kernel.close()
})
