import { goalSubmitting, type Orchestrator, orchestrator as orchestratorToken } from '@svc/contracts'
import { definePlugin, type JsonSchema, type Plugin, ref, toJsonSchema } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import '../../database/test/built-worker.ts'
import database from '@svc/plugin-database'
import orchestratorPlugin from '@svc/plugin-orchestrator'
import { planExecute, planNew, planReplan, planStatus } from '#operations'
import planning from '#plugin'
import { until } from './open-planning.ts'

const GOAL = 'Add the login page; write a test for the login page'
const DONE = {
  completion_summary: 'The step is done and was reviewed by a user',
  checks_passed: ['human_review_approved'],
  declared_non_placeholder: true
}

/** Returns an empty object for each object property of a schema; the kernel fills in the defaults. */
function tables(schema: JsonSchema): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).flatMap(([name, property]) =>
      property.type === 'object' && property.properties !== undefined ? [[name, tables(property)]] : []
    )
  )
}

/** Opens the planning plugin with the real orchestrator and a real database. */
async function open(settings: object): Promise<{ kernel: TestKernel; tasks: () => Orchestrator }> {
  let held: { readonly current: Orchestrator } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { tasks: ref(orchestratorToken) },
    activate(_ctx, deps) {
      held = deps.tasks
    }
  })
  const kernel = await testKernel([database, orchestratorPlugin, planning, probe] as Plugin[], {
    settings: { orchestrator: { ...tables(toJsonSchema(orchestratorPlugin.config ?? {})), ...settings } }
  })
  const tasks = () => {
    if (held === undefined) throw new Error('no plugin provides the orchestrator')
    return held.current
  }
  return { kernel, tasks }
}

function taskOf({ kernel }: { kernel: TestKernel }, session_id: string, node: string): Promise<number> {
  return until(async () => {
    const { nodes } = await kernel.call(planStatus, { session_id })
    const found = nodes.find(({ node_id }) => node_id === node)
    return found?.status === 'queued' || found?.status === 'in_progress' ? (found.task_id ?? null) : null
  })
}

t.test('a goal is planned, its steps are enqueued in order, and the plan is completed', async t => {
  const opened = await open({
    planning_enabled: true,
    planning_router_enabled: true,
    planning_auto_mode_enabled: true,
    planning_rollout_percent: 100
  })
  const { kernel, tasks } = opened
  const request = { description: GOAL, files: [], session_id: 'chat' }
  const outcome = await kernel.trigger(goalSubmitting, { surface: 'test', mode: 'auto', request })
  const session_id = outcome?.plan_session_id ?? ''
  for (const node of ['n1', 'n2']) {
    const task = await taskOf(opened, session_id, node)
    t.match(tasks().task(task)?.plan, { session_id, node_id: node, version: 1 })
    t.same(await tasks().complete(task, DONE), { completed: true })
  }
  await until(async () => (await kernel.call(planStatus, { session_id })).status === 'completed')
  t.ok(
    tasks()
      .recentEvents()
      .some(({ kind }) => kind.type === 'plan_session_created')
  )
  await kernel.close()
})

t.test('a plan continues after the orchestrator is replaced between its steps', async t => {
  const opened = await open({ planning_auto_mode_enabled: true })
  const { kernel, tasks } = opened
  const { session_id } = await kernel.call(planNew, { goal: GOAL })
  const { task_ids } = await kernel.call(planExecute, { session_id })
  t.equal(task_ids.length, 1)
  await kernel.replace(definePlugin({ ...orchestratorPlugin }) as Plugin)
  const [first] = task_ids
  const adopted = await until(async () => tasks().task(first ?? 0))
  t.match(adopted.plan, { session_id, node_id: 'n1' })
  await tasks().complete(first ?? 0, DONE)
  await tasks().complete(await taskOf(opened, session_id, 'n2'), DONE)
  await until(async () => (await kernel.call(planStatus, { session_id })).status === 'completed')
  await kernel.close()
})

t.test('steps wait for approval, and a new version cancels their tasks', async t => {
  const opened = await open({})
  const { kernel, tasks } = opened
  const { session_id } = await kernel.call(planNew, { goal: GOAL })
  const [first = 0] = (await kernel.call(planExecute, { session_id })).task_ids
  t.equal(tasks().task(first)?.status.kind, 'BlockedOnApproval')
  await kernel.call(planReplan, { session_id, delta_hint: 'Support passwords of any length' })
  t.equal(tasks().task(first)?.status.kind, 'Cancelled')
  const next = await taskOf(opened, session_id, 'n1')
  t.not(next, first)
  await tasks().approve(next, 'somebody')
  await tasks().complete(next, DONE)
  t.match(tasks().task(await taskOf(opened, session_id, 'n2'))?.plan, { version: 2 })
  await kernel.close()
})
