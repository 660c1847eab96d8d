import { kernelPort, type Topics } from '@svc/contracts'
import { type Delta, definePlugin } from '@svc/plugin-sdk'
import t from 'tap'
import { type AgentRow, agentsFeed, LiveRows, type TaskRow, tasksFeed } from '#feeds'
import { openWorld, type World } from './open-world.ts'

const DONE = { checks_passed: ['tests'], completion_summary: 'All of it is done and tested.' }

/** Reader of a feed that applies its deltas, as the console does. */
function reader<Row extends { readonly id: number }>(read: (since: string | undefined) => Promise<Delta<Row>>) {
  const rows = new Map<string, Row>()
  let since: string | undefined
  return {
    rows,
    /** Reads all changes. Returns the labels of changed and removed rows. */
    async next(): Promise<{ readonly changed: readonly number[]; readonly removed: readonly string[] }> {
      const changed: number[] = []
      const removed: string[] = []
      for (;;) {
        const delta = await read(since)
        if (delta.reset) rows.clear()
        since = delta.cursor
        for (const row of delta.upsert) {
          rows.set(String(row.id), row)
          changed.push(row.id)
        }
        for (const key of delta.remove) {
          rows.delete(key)
          removed.push(key)
        }
        if (!delta.more) return { changed, removed }
      }
    }
  }
}

const taskReader = ({ kernel }: World, limit = 1_000) =>
  reader<TaskRow>(async since => (await kernel.call(tasksFeed, { since, limit })) as Delta<TaskRow>)
const agentReader = ({ kernel }: World) =>
  reader<AgentRow>(async since => (await kernel.call(agentsFeed, { since })) as Delta<AgentRow>)

t.test('the feed of tasks has a row for each task, and then only changed rows', async t => {
  const world = await openWorld(t)
  const { orchestrator } = world
  await orchestrator.submit({ description: 'Write the parser\nwith tests', files: [], agent_name: 'one' })
  await orchestrator.submit({ description: 'Test the parser', files: [], agent_name: 'one', depends_on: [1] })
  await orchestrator.submit({ description: 'Delete it', files: [], hints: { requires_approval: true } })
  const tasks = taskReader(world)
  t.same((await tasks.next()).changed.toSorted(), [1, 2, 3])
  t.match(tasks.rows.get('1'), {
    task: 'T-0001',
    description: 'Write the parser',
    state: 'Queued',
    agent: 'one',
    priority: 'Normal',
    position: 1,
    attempts: 0
  })
  t.match(tasks.rows.get('2'), { state: 'Blocked', waiting_for: 'T-0001' })
  t.match(tasks.rows.get('3'), { state: 'BlockedOnApproval', waiting_for: 'approval' })
  t.same(await tasks.next(), { changed: [], removed: [] })

  await orchestrator.next(1)
  t.same((await tasks.next()).changed, [1])
  t.match(tasks.rows.get('1'), { state: 'InProgress', attempts: 1, position: undefined })
  await orchestrator.complete(1, DONE)
  await tasks.next()
  t.match(
    tasks.rows.get('2'),
    { state: 'Queued', position: 1, waiting_for: undefined },
    'it is unblocked without an event'
  )
  await orchestrator.fail(2, 'the parser loops')
  await orchestrator.doubt(3, null).catch(() => {})
  t.same((await tasks.next()).changed, [2])
  t.match(tasks.rows.get('2'), { state: 'Failed', error: 'the parser loops' })
})

t.test('rows have the positions of the first ten tasks of each queue', async t => {
  const world = await openWorld(t)
  const { orchestrator } = world
  for (let each = 0; each < 12; each += 1)
    await orchestrator.submit({ description: `Step ${each}`, files: [], agent_name: 'one' })
  const tasks = taskReader(world)
  await tasks.next()
  const positions = () => [...tasks.rows.values()].sort((a, b) => a.id - b.id).map(({ position }) => position ?? 0)
  t.same(positions(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0])
  await orchestrator.reorder(12, 'Urgent')
  await tasks.next()
  t.same(positions(), [2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0, 1])
  await orchestrator.cancel(1)
  await tasks.next()
  t.same(positions(), [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 1])
  const queues = (await world.kernel.callById('orchestrator.queues', { limit: 2 })) as { tasks: TaskRow[] }
  t.match(queues.tasks, [
    { id: 12, position: 1 },
    { id: 2, position: 2 }
  ])
  const record = await world.kernel.callById('orchestrator.tasks.record', { task_id: 11 })
  t.match(record, { id: 11, position: 11, state: 'Queued', description: 'Step 10' })
})

t.test('a task that moves to another agent has its position in the queue of that agent', async t => {
  const world = await openWorld(t)
  const { orchestrator } = world
  for (const [name, tasks] of [
    ['one', 3],
    ['two', 1]
  ] as const)
    for (let each = 0; each < tasks; each += 1)
      await orchestrator.submit({ description: 'Work on it', files: [], agent_name: name })
  const tasks = taskReader(world)
  await tasks.next()
  await orchestrator.handoff({
    from_agent: 1,
    to_agent: 2,
    plan_summary: 'the second agent continues with the first task',
    pending_tasks: [1],
    metadata: [['execution_role', 'builder']],
    unresolved_objectives: ['the rest'],
    verification_criteria: ['tests pass']
  })
  await tasks.next()
  const byAgent = (agent: string) =>
    [...tasks.rows.values()]
      .filter(row => row.agent === agent)
      .sort((a, b) => (a.position ?? 0) - (b.position ?? 0))
      .map(({ id, position }) => [id, position])
  for (const agent of ['one', 'two'])
    t.same(
      byAgent(agent).map(([, position]) => position),
      byAgent(agent).map((_, at) => at + 1),
      `the positions of agent ${agent} have no gaps`
    )
  t.equal(byAgent('one').length + byAgent('two').length, 4)
})

t.test('the feed of agents follows their tasks, pauses, budgets and ends', async t => {
  const world = await openWorld(t)
  const { orchestrator } = world
  await orchestrator.submit({ description: 'Write the parser', files: [], agent_name: 'one' })
  const agents = agentReader(world)
  await agents.next()
  t.match(agents.rows.get('1'), { agent: 'A-01', name: 'one', state: 'waiting', queued: 1, trust: 0.5 })
  await orchestrator.next(1)
  await agents.next()
  t.match(agents.rows.get('1'), { state: 'working', task: 'T-0001', queued: 0 })
  t.same((await agents.next()).changed, [])
  await orchestrator.budgets.record({
    agent_id: 1,
    provider: 'test',
    model: 'test',
    input_tokens: 10,
    output_tokens: 5,
    cost_usd: 0
  })
  await agents.next()
  t.match(agents.rows.get('1'), { tokens_used: 15 })
  orchestrator.heartbeat(1, 'writing')
  await agents.next()
  t.match(agents.rows.get('1'), { activity: 'writing' })
  await orchestrator.complete(1, DONE)
  await orchestrator.pauseAgent(1)
  await agents.next()
  t.match(agents.rows.get('1'), { state: 'paused', completed: 1 })
  await orchestrator.retireAgent(1)
  t.same((await agents.next()).removed, ['1'])
})

t.test('a feed of 2,500 tasks is read in pages, and each row arrives', async t => {
  const world = await openWorld(t)
  for (let each = 0; each < 2_500; each += 1)
    await world.orchestrator.submit({ description: `Step ${each}`, files: [], agent_name: `agent ${each % 4}` })
  const tasks = taskReader(world, 400)
  await tasks.next()
  t.equal(tasks.rows.size, 2_500)
  await world.orchestrator.cancel(77)
  const { changed } = await tasks.next()
  t.ok(changed.includes(77))
  t.ok(changed.length < 20, 'only the task and the positions of one queue changed')
})

t.test('ended tasks that the orchestrator forgets leave the feed', async t => {
  const world = await openWorld(t)
  const { orchestrator } = world
  const tasks = taskReader(world)
  for (let each = 1; each <= 1_003; each += 1) {
    await orchestrator.submit({ description: `Step ${each}`, files: [] })
    if (each === 1) await tasks.next()
    await orchestrator.cancel(each)
  }
  await tasks.next()
  t.equal(tasks.rows.size, orchestrator.tasks().length)
  t.notOk(tasks.rows.has('1'))
})

t.test('the feed continues after a reload of the orchestrator, and announces changes', async t => {
  let topics: Topics | undefined
  const listener = definePlugin({
    name: 'listener',
    requires: { port: kernelPort },
    activate: (_ctx, { port }) => {
      topics = port.topics
    }
  })
  const world = await openWorld(t, { more: [listener] })
  const { default: plugin } = await import('@svc/plugin-orchestrator')
  await world.orchestrator.submit({ description: 'Write the parser', files: [] })
  const tasks = taskReader(world)
  await tasks.next()
  await world.kernel.replace({ ...plugin })
  const before = topics?.version('orchestrator.tasks') ?? 0
  await world.orchestrator.cancel(1)
  t.equal(topics?.version('orchestrator.tasks'), before + 1)
  const { changed } = await tasks.next()
  t.same(changed, [1])
  t.match(tasks.rows.get('1'), { state: 'Cancelled' })
})

t.test('rows compare all keys after too many marks, and send only what differs', t => {
  const source = new Map([
    ['a', 1],
    ['b', 2]
  ])
  const rows = new LiveRows<{ readonly value: number }>(
    {
      keys: () => source.keys(),
      row: key => (source.has(key) ? { value: source.get(key) as number } : null)
    },
    3
  )
  const first = rows.read(undefined, 10)
  t.equal(first.upsert.length, 2)
  source.set('b', 3).set('c', 4).delete('a')
  for (const key of ['a', 'b', 'x', 'y', 'z']) rows.mark(key)
  const second = rows.read(first.cursor, 10)
  t.same(second.upsert, [{ value: 3 }, { value: 4 }])
  t.same(second.remove, ['a'])
  rows.mark('c')
  t.same(rows.read(second.cursor, 10).upsert, [], 'an equal row is not sent')
  t.end()
})
