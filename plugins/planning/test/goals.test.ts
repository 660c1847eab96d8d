import { type GoalRequest, goalSubmitting, rowsByName } from '@svc/contracts'
import t from 'tap'
import { planStatus } from '#operations'
import { FakeOrchestrator } from './fake-orchestrator.ts'
import { openPlanning, openWithoutDatabase, until } from './open-planning.ts'

const GOAL = 'Add the login page to src/login.ts; write a test for the login page; update the guide of the login page'

function goal(mode: GoalRequest['mode'] = 'auto', description = GOAL, change: Partial<GoalRequest> = {}): GoalRequest {
  return { surface: 'svc_submit_task', mode, request: { description, files: [], session_id: 'chat' }, ...change }
}

/** Returns an orchestrator with all planning settings on, except the passed ones. */
function orchestratorWith(planning: Partial<FakeOrchestrator['planning']>): FakeOrchestrator {
  const fake = new FakeOrchestrator()
  fake.planning = { ...fake.planning, ...planning }
  return fake
}

t.test('a complex goal becomes a plan, and its first step is enqueued', async t => {
  const { kernel, fake, store } = await openPlanning()
  const outcome = await kernel.trigger(
    goalSubmitting,
    goal('auto', GOAL, {
      goal_type: 'feature',
      request: {
        description: GOAL,
        files: [{ path: 'src/session.ts', access: 'write' }],
        session_id: 'chat',
        priority: 'Urgent',
        depends_on: [7],
        hints: { campaign_id: 'autumn', complexity: 9 }
      }
    })
  )
  t.match(outcome, {
    submitted: { task_id: 1 },
    strategy: 'SequentialDag',
    plan_session_id: /^plan-[0-9a-f-]{36}$/,
    shadow_plan_adequacy: { is_too_thin: false, critical_count: 0 }
  })
  t.match(fake.requests[0], {
    description: 'Add the login page to src/login.ts',
    priority: 'Urgent',
    depends_on: [7],
    hints: { campaign_id: 'autumn', complexity: 3 },
    files: [
      { path: 'src/session.ts', access: 'write' },
      { path: 'src/login.ts', access: 'write' }
    ]
  })
  t.match(fake.events, [
    { type: 'planning_routed', strategy: 'SequentialDag', confidence: 0.7 },
    { type: 'plan_session_created' },
    { type: 'plan_version_created' }
  ])
  await fake.end(1, 'completed')
  await until(async () => fake.requests.length === 2)
  t.equal(fake.requests[1]?.depends_on, undefined, 'only the first step inherits the dependencies of the goal')
  const [session] = rowsByName(await store.query('SELECT * FROM plan_sessions'))
  t.match(session, { strategy: 'SequentialDag', status: 'running', goal_text: GOAL, origin_session_id: 'chat' })
  const [version] = rowsByName(await store.query('SELECT * FROM plan_versions'))
  t.match(version, { version: 1, trigger_event: 'goal', reviewer_verdict: 'adequate', quality_score: 0.8875 })
  await kernel.close()
})

t.test('a goal that is not planned becomes one task', async t => {
  const small = 'Rename the flag'
  const cases: readonly (readonly [string, Partial<FakeOrchestrator['planning']>, GoalRequest, number])[] = [
    ['direct', {}, goal('direct'), 1],
    ['small', {}, goal('auto', small), 1],
    ['planning is off', { enabled: false }, goal(), 1],
    ['the router is off', { router_enabled: false }, goal(), 0],
    ['automatic planning is off', { auto_mode_enabled: false }, goal(), 0],
    ['the rollout is 0 %', { rollout_percent: 0 }, goal(), 0],
    ['shadow mode', { shadow_mode: true }, goal(), 1],
    ['force_plan in shadow mode', { shadow_mode: true }, goal('force_plan'), 1]
  ]
  for (const [name, planning, request, routed] of cases) {
    const { kernel, fake } = await openPlanning({ fake: orchestratorWith(planning) })
    const outcome = await kernel.trigger(goalSubmitting, request)
    t.match(outcome, { submitted: { task_id: 1 }, shadow_plan_adequacy: { reason_codes: [] } }, name)
    t.equal(outcome?.plan_session_id, undefined, name)
    t.equal(fake.requests[0]?.description, request.request.description, name)
    t.equal(fake.events.filter(({ type }) => type === 'planning_routed').length, routed, name)
    await kernel.close()
  }
})

t.test('a goal that is one task is submitted by the caller if adequacy is not reported', async t => {
  const { kernel, fake } = await openPlanning({
    fake: orchestratorWith({ adequacy_shadow: false, rollout_percent: 0 })
  })
  t.equal(await kernel.trigger(goalSubmitting, goal()), undefined)
  t.equal(fake.requests.length, 0)
  await kernel.close()
})

t.test('force_plan creates a plan even if planning is off', async t => {
  const fake = orchestratorWith({ enabled: false, router_enabled: false, auto_mode_enabled: false, rollout_percent: 0 })
  const { kernel } = await openPlanning({ fake })
  const outcome = await kernel.trigger(goalSubmitting, goal('force_plan', GOAL, { max_plan_depth: 2 }))
  t.match(outcome, { strategy: 'SequentialDag', submitted: { status: 'BlockedOnApproval' } })
  const { nodes } = await kernel.call(planStatus, { session_id: outcome?.plan_session_id ?? '' })
  t.same(
    nodes.map(({ description }) => description),
    ['Add the login page to src/login.ts', 'write a test for the login page; update the guide of the login page']
  )
  await kernel.close()
})

t.test('a goal that mentions a workflow is handed to it if handoffs are enabled', async t => {
  const { kernel, fake, store } = await openPlanning({ fake: orchestratorWith({ workflow_handoff_enabled: true }) })
  fake.campaign = 'autumn'
  const text = `Run the release workflow with the test of each package ${'so that it is '.repeat(20)}done`
  const outcome = await kernel.trigger(goalSubmitting, goal('auto', text))
  t.match(outcome, { strategy: 'WorkflowHandoff', plan_session_id: /^wf-[0-9a-f-]{36}$/, submitted: { task_id: 1 } })
  t.equal(fake.requests[0]?.description, `[workflow-handoff] ${text}`)
  const id = outcome?.plan_session_id ?? ''
  t.match(
    fake.events.filter(({ type }) => type.startsWith('workflow_')),
    [
      { type: 'workflow_handoff_requested', plan_session_id: id, workflow_name: 'release' },
      { type: 'workflow_handoff_completed', plan_session_id: id, task_id: 1 }
    ]
  )
  const started = fake.lineageRows.find(({ kind }) => kind === 'workflow_handoff_started')
  t.match(started, {
    task_id: 1,
    workflow_id: 'release',
    payload: { campaign_id: 'autumn', goal_preview: text.slice(0, 240) }
  })
  await fake.end(1, 'completed')
  await until(async () => fake.lineageRows.some(({ kind }) => kind === 'workflow_handoff_completed'))
  await until(async () => (await kernel.call(planStatus, { session_id: id })).status === 'completed')
  t.same((await store.query('SELECT workflow_invocation FROM plan_nodes')).rows, [['release']])
  await kernel.close()
})

t.test('workflow_only creates an ordinary plan if handoffs are disabled', async t => {
  const { kernel } = await openPlanning()
  t.match(await kernel.trigger(goalSubmitting, goal('workflow_only')), { strategy: 'SequentialDag' })
  await kernel.close()
})

t.test('a plan that is too thin throws PLN_ADEQUACY if adequacy is enforced', async t => {
  const { kernel, fake } = await openPlanning({ fake: orchestratorWith({ adequacy_enforce: true }) })
  const thin = goal('force_plan', 'Adapt the login page across its languages')
  await t.rejects(kernel.trigger(goalSubmitting, thin), { code: 'PLN_ADEQUACY', message: /^Plan adequacy: / })
  t.equal(fake.requests.length, 0)
  t.match(await kernel.trigger(goalSubmitting, goal()), { strategy: 'SequentialDag' })
  await kernel.close()
})

t.test('a goal whose steps fail the quality gate becomes one task, but force_plan throws PLN_QUALITY_GATE', async t => {
  const { kernel, fake } = await openPlanning()
  const vague = 'The login page and the logout page are both rather slow; the test of them as well'
  t.match(await kernel.trigger(goalSubmitting, goal('auto', vague)), { submitted: { task_id: 1 } })
  t.equal(fake.requests[0]?.description, vague)
  await t.rejects(kernel.trigger(goalSubmitting, goal('force_plan', vague)), { code: 'PLN_QUALITY_GATE' })
  await kernel.close()
})

t.test('without a database a goal becomes one task, force_plan throws, and a handoff still works', async t => {
  const { kernel, fake } = await openWithoutDatabase({ fake: orchestratorWith({ workflow_handoff_enabled: true }) })
  t.match(await kernel.trigger(goalSubmitting, goal()), { submitted: { task_id: 1 } })
  await t.rejects(kernel.trigger(goalSubmitting, goal('force_plan')), { code: 'ORC_NO_DATABASE' })
  t.match(await kernel.trigger(goalSubmitting, goal('workflow_only')), {
    plan_session_id: /^wf-/,
    submitted: { task_id: 2 }
  })
  t.match(fake.requests[1]?.plan, { session_id: /^wf-/ })
  await kernel.close()
})
