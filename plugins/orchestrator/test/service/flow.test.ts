import t from 'tap'
import { openTestOrchestrator } from './test-orchestrator.ts'

const DONE = { checks_passed: ['tests'], completion_summary: 'All of it is done and tested.' }

t.test('submits, claims and completes a task', async t => {
  const { service, emitted, ends } = await openTestOrchestrator(t)
  const submitted = await service.submit({ description: 'Write the parser', files: [] })
  t.match(submitted, { task_id: 1, agent_id: 1, status: 'Queued', warnings: [] })
  t.equal(service.task(1)?.status.kind, 'Queued')
  const task = await service.next(1)
  t.match(task, { id: 1, status: { kind: 'InProgress' } })
  t.equal(await service.next(1), null, 'an agent has only one task at a time')
  const signal = service.taskSignal(1)
  t.notOk(signal.aborted)
  t.same(await service.complete(1, DONE), { completed: true })
  t.ok(signal.aborted)
  t.equal(service.task(1)?.status.kind, 'Completed')
  t.same(emitted(), ['agent_spawned', 'task_submitted', 'task_started', 'task_completed'])
  t.match(service.status(), { total_completed: 1, total_queued: 0, total_in_progress: 0, total_weighted_load: 0 })
  await new Promise(setImmediate)
  t.match(ends, [{ task_id: 1, outcome: 'completed' }])
})

t.test('announces each changed record, also of a task that another one unblocks', async t => {
  const { service } = await openTestOrchestrator(t)
  await service.submit({ description: 'Write the parser', files: [] })
  await service.submit({ description: 'Test the parser', files: [], depends_on: [1] })
  const changed = new Set<string>()
  const stop = service.subscribeRecords(records => {
    for (const record of records ?? []) changed.add(record)
  })
  await service.complete(1, DONE)
  t.ok(changed.has('task/1'))
  t.ok(changed.has('task/2'), 'the unblocked task has no event')
  changed.clear()
  stop()
  await service.cancel(2)
  t.equal(changed.size, 0)
})
