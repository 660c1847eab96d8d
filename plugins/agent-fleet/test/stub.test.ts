import t from 'tap'
import { eventually, openFleet } from './open-fleet.ts'

const DONE = { completion_summary: 'Another worker has done it.', checks_passed: ['looked at it'] }

t.test('a task of the stub is in progress until a client completes it; then the next task starts', async t => {
  const { tasks, submit, until, fleet } = await openFleet(t)
  t.same(fleet.processors, ['ai', 'stub'])
  const [first, second] = [await submit(), await submit()]
  await until(first, 'InProgress')
  t.equal(fleet.workers, 1)
  t.equal(tasks.task(second)?.status.kind, 'Queued', 'an agent runs one task at a time')
  t.same(await tasks.complete(first, DONE), { completed: true })
  await until(second, 'InProgress')
  await tasks.cancel(second)
  await until(second, 'Cancelled')
})

t.test('no task is claimed before a surface starts the fleet, or if the settings disable it', async t => {
  const asleep = await openFleet(t, { start: false })
  t.notOk(asleep.fleet.running)
  const task = await asleep.submit()
  t.equal(asleep.tasks.task(task)?.status.kind, 'Queued')
  asleep.fleet.start()
  await asleep.until(task, 'InProgress')
  const off = await openFleet(t, { fleet: { fleet: false } })
  t.notOk(off.fleet.running)
  const external = await openFleet(t, { fleet: { processor: 'external' } })
  t.notOk(external.fleet.running, 'the fleet does not run without a processor')
})

t.test('with stub_completes the stub states that no work was done, and the gates decide', async t => {
  const { submit, until, tasks } = await openFleet(t, { fleet: { processor: 'stub', stub_completes: true } })
  await until(await submit(), 'Completed')
  const strict = await openFleet(t, {
    fleet: { processor: 'stub', stub_completes: true },
    orchestrator: { stubcheck_gate: true, max_stubcheck_debug_iterations: 1 }
  })
  const task = await strict.submit()
  const { status } = await strict.until(task, 'Failed')
  t.match(status, { reason: /^Scope denied/ })
  t.ok(strict.eventTypes().includes('task_requeued'))
  t.equal(tasks.status().total_failed, 0)
})

t.test('workers start for agents that are spawned later, and stop for retired ones', async t => {
  const { tasks, fleet, submit, until } = await openFleet(t)
  const { id } = await tasks.spawnAgent({ name: 'late' })
  await eventually(() => (fleet.workers === 1 ? true : null))
  await until(await submit({ agent_name: 'late' }), 'InProgress')
  await tasks.retireAgent(id)
  await eventually(() => (fleet.workers === 0 ? true : null))
})

t.test('tasks queued for a busy agent move to an idle one', async t => {
  const { tasks, submit } = await openFleet(t)
  const { id: busy } = await tasks.spawnAgent({ name: 'busy' })
  await tasks.spawnAgent({ name: 'free' })
  const submitted = await Promise.all(Array.from({ length: 6 }, () => submit({ agent_name: 'busy' })))
  await eventually(() => (submitted.some(task => tasks.task(task)?.agent_id !== busy) ? true : null))
})
