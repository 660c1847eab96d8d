import t from 'tap'
import { planCompare, planExecute, planNew, planRecord, planReplan, planSearch, planTable } from '#operations'
import { openPlanning, openWithoutDatabase } from './open-planning.ts'

const GOAL = 'Add the parser to src/parser.ts\nWrite a test for the parser\nUpdate the guide of the parser'

t.test('a plan is a graph of steps, with its progress, tasks and attempts', async t => {
  const { kernel, fake } = await openPlanning()
  t.teardown(() => kernel.close())
  const { session_id } = await kernel.call(planNew, { goal: GOAL })
  await kernel.call(planExecute, { session_id, force_risky_reason: 'a test' })
  const plan = await kernel.call(planRecord, { session_id })
  t.match(plan, { id: session_id, status: 'running', goal: GOAL, version: 1, completed: 0, execution_mode: String })
  t.equal(plan.nodes.length, plan.steps)
  const ids = new Set(plan.nodes.map(({ id }) => id))
  t.ok(plan.edges.length > 0)
  t.ok(plan.edges.every(({ from, to }) => ids.has(from) && ids.has(to)))
  t.ok(Math.abs(plan.created_at_ms - Date.now()) < 60_000, 'times of the database are UTC')
  t.match(plan.attempts, [{ step: plan.nodes[0]?.id, attempt: 1, task_id: Number, outcome: 'running' }])
  t.equal(plan.nodes[0]?.task_id, plan.attempts[0]?.task_id)
  t.ok(fake.task(plan.nodes[0]?.task_id as number))
  t.match(await kernel.call(planTable, {}), { plans: [{ id: session_id, steps: plan.steps, completed: 0 }] })
})

t.test('two versions of a plan are compared step by step', async t => {
  const { kernel } = await openPlanning()
  t.teardown(() => kernel.close())
  const { session_id } = await kernel.call(planNew, { goal: GOAL })
  const only = await kernel.call(planCompare, { session_id })
  t.same([only.left, only.right], [1, 1])
  t.ok(only.steps.every(({ change }) => change === 'same'))
  await kernel.call(planReplan, { session_id, delta_hint: 'Publish the package to the registry.' })
  const { left, right, steps } = await kernel.call(planCompare, { session_id })
  t.same([left, right], [1, 2])
  const added = steps.filter(({ change }) => change === 'added')
  t.match(added, [{ left_text: '', right_text: /Publish the package/ }])
  const back = await kernel.call(planCompare, { session_id, left: '2', right: '1' })
  t.equal(back.steps.filter(({ change }) => change === 'removed').length, added.length)
  t.match(await kernel.call(planRecord, { session_id }), {
    versions: [{ version: 1 }, { version: 2, trigger: 'replan' }]
  })
})

t.test('plans are found by text, and wildcards of SQL are plain characters', async t => {
  const { kernel } = await openPlanning()
  t.teardown(() => kernel.close())
  const { session_id } = await kernel.call(planNew, { goal: 'Reach 100% coverage of a_b' })
  await kernel.call(planNew, { goal: 'Reach 100 users of aXb' })
  const found = async (text: string) => (await kernel.call(planSearch, { text })).results.map(({ title }) => title)
  t.same(await found('100%'), ['Reach 100% coverage of a_b'])
  t.same(await found('a_b'), ['Reach 100% coverage of a_b'])
  t.equal((await found('reach')).length, 2)
  t.same(await found(session_id), ['Reach 100% coverage of a_b'])
})

t.test('without a database there are no plans, and a plan has a clear error', async t => {
  const { kernel } = await openWithoutDatabase()
  t.teardown(() => kernel.close())
  t.same(await kernel.call(planTable, {}), { plans: [] })
  t.same(await kernel.call(planSearch, { text: 'x' }), { results: [] })
  await t.rejects(kernel.call(planRecord, { session_id: 'plan-1' }), { code: 'ORC_NO_DATABASE' })
})
