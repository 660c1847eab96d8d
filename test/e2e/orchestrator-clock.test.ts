import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openStore } from '../../plugins/orchestrator/test/durable/test-persistence.ts'
import { openTestOrchestrator } from '../../plugins/orchestrator/test/service/test-orchestrator.ts'
import { assertInvariants } from '../../plugins/orchestrator/test/state/invariants.ts'
import { DONE } from './orchestrator-faults/story.ts'

const YEAR = 365 * 86_400_000
const HOUR = 3_600_000

t.test('tasks keep their order when the clock jumps back and forth', async t => {
  const root = mkdtempSync(join(tmpdir(), 'svc-clock-'))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  const store = await openStore()
  const settings = { task_timeout_ms: 10 * HOUR, lock_timeout_ms: HOUR }
  const first = await openTestOrchestrator(t, { store, root, settings })
  const { service } = first
  const submit = async (path?: string): Promise<number> => {
    const files = path === undefined ? [] : [{ path, access: 'write' as const }]
    return (await service.submit({ description: 'Do it', files, agent_name: 'one' })).task_id
  }
  const times = (): readonly number[] => service.tasks().map(({ created_at_ms }) => created_at_ms)
  const ids = [await submit('src/a.ts')]
  for (const jump of [-YEAR, HOUR, -HOUR, 1, -10 * YEAR, 20, -20]) {
    first.advanceClock(jump)
    await first.tick()
    ids.push(await submit())
    assertInvariants(first.world)
  }
  t.same(
    times(),
    [...times()].sort((one, other) => one - other),
    'later tasks have later times'
  )
  t.equal(service.status().total_queued, ids.length, 'no task has expired')
  const taken: number[] = []
  for (let round = 0; round < 3; round += 1) {
    const { id } = (await service.next(1))!
    taken.push(id)
    await service.complete(id, DONE)
  }
  t.same(taken, ids.slice(0, 3))

  // After a jump of years into the past, an hour still lasts an hour.
  const held = await submit('src/b.ts')
  first.advanceClock(HOUR + 1)
  await first.tick()
  t.notOk(
    service.locks().some(({ task_id }) => task_id === held),
    'an expired lock is released'
  )
  first.advanceClock(9 * HOUR)
  await first.tick()
  const waiting = service.tasks().filter(({ status }) => status.kind === 'Queued')
  t.same(waiting, [], 'tasks that waited for too long have expired')
  assertInvariants(first.world)
  const last = await submit()
  await first.close()

  const second = await openTestOrchestrator(t, { store, root, settings, at: 1_700_000_000_000 - 20 * YEAR })
  await second.tick()
  assertInvariants(second.world)
  t.equal(second.service.task(last)?.status.kind, 'Queued', 'a process whose clock is in the past restores all records')
  const { task_id } = await second.service.submit({ description: 'Do it', files: [], agent_name: 'one' })
  const order = [(await second.service.next(1))?.id]
  await second.service.complete(last, DONE)
  order.push((await second.service.next(1))?.id)
  t.same(order, [last, task_id], 'earlier tasks come first')
})
