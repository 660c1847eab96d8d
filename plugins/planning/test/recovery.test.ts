import { orchestrationErrors } from '@svc/contracts'
import t from 'tap'
import { PlanExecution } from '#execution'
import { planExecute, planNew, planStatus } from '#operations'
import { Announcements } from '#root'
import { PlanStore } from '#store'
import { type OpenPlanning, openPlanning } from './open-planning.ts'

const GOAL = 'Add the login page to src/login.ts\nWrite a test for the login page'

/** Opens a plan whose first step is enqueued as task 1. */
async function running(): Promise<OpenPlanning & { session_id: string; execution: PlanExecution }> {
  const opened = await openPlanning()
  const { session_id } = await opened.kernel.call(planNew, { goal: GOAL })
  await opened.kernel.call(planExecute, { session_id })
  return { ...opened, session_id, execution: restarted(opened) }
}

/** Returns the plan execution of a new process on the same database. */
function restarted({ fake, store }: OpenPlanning): PlanExecution {
  const orchestrator = fake as never
  return new PlanExecution({
    store: new PlanStore(store),
    orchestrator,
    announcements: new Announcements(orchestrator),
    log: { debug() {}, info() {}, warn() {}, error() {} } as never,
    replan: async () => {}
  })
}

async function statuses({ kernel }: OpenPlanning, session_id: string): Promise<string[]> {
  const { status, nodes } = await kernel.call(planStatus, { session_id })
  return [status, ...nodes.map(node => node.status)]
}

t.test('a restart records the end of a task that no process observed', async t => {
  const opened = await running()
  await opened.fake.end(1, 'completed', undefined, false)
  await opened.execution.reconcile()
  t.same(await statuses(opened, opened.session_id), ['running', 'completed', 'queued'])
  t.equal(opened.fake.requests.length, 2)
  await opened.fake.end(2, 'failed', 'no idea', false)
  await opened.execution.reconcile()
  t.same(await statuses(opened, opened.session_id), ['running', 'completed', 'queued'], 'the failed step is retried')
  t.equal(opened.fake.requests.length, 3)
  await opened.execution.reconcile()
  t.equal(opened.fake.requests.length, 3, 'no step is enqueued twice')
  await opened.kernel.close()
})

t.test('a step is retried a minute after its process was killed between claim and submission', async t => {
  const opened = await running()
  const { store, fake, execution, session_id } = opened
  await store.execute('DELETE FROM plan_node_attempts')
  fake.forget(1)
  await execution.reconcile()
  t.same(
    await statuses(opened, session_id),
    ['running', 'queued', 'pending'],
    'the claiming process may still be running'
  )
  await store.execute("UPDATE plan_nodes SET updated_at = datetime('now', '-61 seconds')")
  await execution.reconcile()
  t.same(await statuses(opened, session_id), ['running', 'queued', 'pending'])
  t.equal(fake.requests.length, 2)
  await opened.kernel.close()
})

t.test('a step finds its task if its process was killed before it recorded the attempt', async t => {
  const opened = await running()
  const { store, fake, execution, session_id } = opened
  await store.execute('DELETE FROM plan_node_attempts')
  await store.execute("UPDATE plan_nodes SET updated_at = datetime('now', '-61 seconds')")
  await execution.reconcile()
  t.equal(fake.requests.length, 1)
  t.same((await store.query('SELECT task_id, attempt_no FROM plan_node_attempts')).rows, [[1, 1]])
  t.same(await statuses(opened, session_id), ['running', 'queued', 'pending'])
  await opened.kernel.close()
})

t.test("the end of another process's task is read from the lineage", async t => {
  const opened = await running()
  const { store, fake, execution, session_id } = opened
  fake.forget(1)
  await execution.reconcile()
  t.same(await statuses(opened, session_id), ['running', 'queued', 'pending'], 'the task may still be running')
  await store.execute(
    "INSERT INTO orchestration_lineage_events (kind, task_id, created_at_ms) VALUES ('task_completed', 1, 1)"
  )
  await execution.reconcile()
  t.same(await statuses(opened, session_id), ['running', 'completed', 'queued'])
  await opened.kernel.close()
})

t.test('two processes with the same plan enqueue each step once', async t => {
  const opened = await running()
  const { fake, execution } = opened
  const other = restarted(opened)
  await fake.end(1, 'completed', undefined, false)
  await Promise.all([execution.reconcile(), other.reconcile(), execution.reconcile()])
  t.equal(fake.requests.length, 2)
  await opened.kernel.close()
})

t.test('a step whose submission threw ORC_NOT_DURABLE is found by its plan, not enqueued again', async t => {
  const opened = await openPlanning()
  const { fake, kernel } = opened
  const { session_id } = await kernel.call(planNew, { goal: GOAL })
  fake.refusals.push(orchestrationErrors.create('ORC_NOT_DURABLE', 'Database error: away'))
  await t.rejects(kernel.call(planExecute, { session_id }), { code: 'ORC_NOT_DURABLE' })
  t.same(await statuses(opened, session_id), ['running', 'queued', 'pending'])
  // The task was written although the submission threw.
  await fake.submit({ description: 'x', files: [], plan: { session_id, node_id: 'n1', version: 1 } })
  await fake.end(1, 'completed', undefined, false)
  await restarted(opened).reconcile()
  t.same(await statuses(opened, session_id), ['running', 'completed', 'queued'])
  await kernel.close()
})

t.test('an end that is reported twice is applied once', async t => {
  const opened = await running()
  const { fake, execution, session_id, store } = opened
  await fake.end(1, 'failed', 'no idea', false)
  const end = {
    task_id: 1,
    outcome: 'failed' as const,
    plan: { session_id, node_id: 'n1', version: 1 },
    ended_at_ms: 1
  }
  execution.ended(end)
  execution.ended(end)
  await execution.exclusive(session_id, async () => {})
  t.equal(fake.requests.length, 2)
  t.same((await store.query('SELECT attempt_no, outcome FROM plan_node_attempts ORDER BY id')).rows, [
    [1, 'failed'],
    [2, null]
  ])
  await opened.kernel.close()
})
