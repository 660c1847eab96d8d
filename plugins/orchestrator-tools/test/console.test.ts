import type { InboxItem } from '@svc/contracts'
import t from 'tap'
import { openWorld, type World } from './open-world.ts'

const DONE = { checks_passed: ['tests'], completion_summary: 'All of it is done and tested.' }

async function inboxOf({ kernel }: World): Promise<readonly InboxItem[]> {
  const { items } = (await kernel.callById('orchestrator.inbox', {})) as { readonly items: readonly InboxItem[] }
  return items
}

/** Gives an answer of an inbox item as the console does. `filled`: fields that the person fills in. */
async function give({ kernel }: World, item: InboxItem | undefined, label: string, filled: object = {}): Promise<void> {
  const answer = item?.answers.find(each => each.label === label)
  if (answer === undefined) throw new Error(`no answer ${label}`)
  await kernel.callById(answer.operation, { ...answer.input, ...filled })
}

t.test('the inbox lists approvals, doubts and failures, and each answer of one click works', async t => {
  const world = await openWorld(t)
  const { orchestrator } = world
  const file = { path: 'src/parser.ts', access: 'write' } as const
  await orchestrator.submit({ description: 'Delete it', files: [file], hints: { requires_approval: true } })
  for (const agent_name of ['one', 'two', 'three'])
    await orchestrator.submit({ description: `Work of ${agent_name}`, files: [], agent_name })
  await orchestrator.doubt(2, 'the numbers differ')
  await orchestrator.doubt(3, null)
  await orchestrator.fail(4, 'the disk is full')
  const items = await inboxOf(world)
  t.same(
    items.map(({ id, kind }) => [id, kind]),
    [
      ['approval-1', 'approval'],
      ['doubt-2', 'doubt'],
      ['doubt-3', 'doubt'],
      ['failure-4', 'failure']
    ]
  )
  t.match(items[0], { body: /Delete it[\s\S]*src\/parser\.ts/, link: '/ui/p/orchestrator-tools/tasks/1' })
  t.match(items[1], { title: 'T-0002 is doubted: the numbers differ' })
  t.match(items[3], { body: 'the disk is full' })
  await give(world, items[0], 'Approve')
  await give(world, items[1], 'Doubt is right: queue again')
  await give(world, items[2], 'Doubt is wrong: accept')
  await give(world, items[3], 'Retry')
  t.same(await inboxOf(world), [])
  t.same(
    orchestrator.tasks().map(({ status }) => status.kind),
    ['Queued', 'Queued', 'Completed', 'Queued']
  )
})

t.test('the inbox lists questions to agents, and an option is one click, also for an agent with a session', async t => {
  const world = await openWorld(t, { database: true })
  const { orchestrator } = world
  await orchestrator.spawnAgent({ name: 'asker' })
  await orchestrator.spawnAgent({ name: 'answerer' })
  await orchestrator.bindSession(2, 'session-2')
  await world.kernel.callById('orchestrator.askAgent', {
    from_agent_id: 1,
    to_agent_id: 2,
    question: 'Which parser?',
    question_kind: 'multiple_choice',
    options: ['LL', 'LR']
  })
  await world.kernel.callById('orchestrator.askAgent', { from_agent_id: 1, to_agent_id: 2, question: 'Why?' })
  const items = await inboxOf(world)
  t.match(items, [
    { kind: 'question', title: 'asker asks answerer', body: 'Which parser?' },
    { kind: 'question', body: 'Why?' }
  ])
  t.same(
    items[0]?.answers.map(({ label, ask }) => [label, ask]),
    [
      ['LL', undefined],
      ['LR', undefined],
      ['Other answer', ['answer']]
    ]
  )
  await give(world, items[0], 'LR')
  t.match(await inboxOf(world), [{ body: 'Why?' }], 'an answer leaves the inbox at once')
  await give(world, items[1], 'Answer', { answer: 'It is simple.' })
  t.same(await inboxOf(world), [])
  const { answers } = (await world.kernel.callById('orchestrator.pendingQuestions', { agent_id: 1 })) as {
    readonly answers: readonly { readonly answer: string }[]
  }
  t.same(
    answers.map(({ answer }) => answer),
    ['LR', 'It is simple.']
  )
})

t.test('the inbox of thousands of failed and waiting tasks fits into one frame of the stream', async t => {
  const world = await openWorld(t)
  const { orchestrator } = world
  const long = 'é'.repeat(2_000)
  for (let each = 1; each <= 300; each += 1) {
    await orchestrator.submit({
      description: `${each} ${long}`,
      files: [],
      hints: { requires_approval: each % 2 === 0 }
    })
    if (each % 2 === 1) await orchestrator.fail(each, long)
  }
  const items = await inboxOf(world)
  t.equal(items.filter(({ kind }) => kind === 'approval').length, 75)
  t.equal(items.filter(({ kind }) => kind === 'failure').length, 25)
  t.equal(items.at(-1)?.id, 'failure-299', 'the newest failures are listed')
  t.ok(JSON.stringify({ items }).length < 256 * 1_024)
})

t.test('the timeline of a task shows where it waited, was worked on and reviewed', async t => {
  const world = await openWorld(t)
  const { orchestrator, kernel } = world
  const barsOf = async (task_id: number) =>
    ((await kernel.callById('orchestrator.tasks.timeline', { task_id })) as { bars: { lane: string; end?: number }[] })
      .bars
  await orchestrator.submit({ description: 'Work', files: [], hints: { requires_approval: true } })
  t.match(await barsOf(1), [{ lane: 'approval', end: undefined }])
  await orchestrator.approve(1, 'tester')
  await orchestrator.next(1)
  orchestrator.phase(1, 'inspect')
  orchestrator.phase(1, 'act')
  t.same(
    (await barsOf(1)).map(({ lane, end }) => [lane, end === undefined]),
    [
      ['approval', false],
      ['queue', false],
      ['work', true],
      ['inspect', false],
      ['act', true]
    ]
  )
  await orchestrator.doubt(1, 'is it right?')
  await orchestrator.resolveDoubt(1, 'overruled', 'it is')
  t.same(
    (await barsOf(1)).map(({ lane, end }) => [lane, end === undefined]),
    [
      ['approval', false],
      ['queue', false],
      ['work', false],
      ['review', false],
      ['inspect', false],
      ['act', false]
    ]
  )
})

t.test('a task has a record with its dependencies, files and events, and is found by text', async t => {
  const world = await openWorld(t)
  const { orchestrator, kernel } = world
  await orchestrator.submit({ description: 'Write the lexer', files: [], agent_name: 'one' })
  await orchestrator.submit({
    description: 'Write the parser\nin two steps',
    files: [{ path: 'src/parser.ts', access: 'write' }],
    agent_name: 'one',
    depends_on: [1]
  })
  t.match(await kernel.callById('orchestrator.tasks.record', { task_id: 'T-0002' }), {
    id: 2,
    state: 'Blocked',
    waiting_for: 'T-0001',
    description: 'Write the parser\nin two steps',
    routing: 'target agent',
    files: [{ path: 'src/parser.ts', access: 'write' }],
    depends_on: [{ id: 1, state: 'Queued', description: 'Write the lexer' }]
  })
  await orchestrator.next(1)
  await orchestrator.complete(1, DONE)
  t.match(await kernel.callById('orchestrator.tasks.events', { task_id: 1 }), {
    events: [{ type: 'task_submitted' }, { type: 'task_started' }, { type: 'task_completed', text: /T-0001/ }]
  })
  t.match(await kernel.callById('orchestrator.summary', {}), { running: true, tasks: 2, agents: 1, working: 0 })
  t.same(await kernel.callById('orchestrator.search', { text: 'PARSER' }), {
    results: [{ title: 'T-0002  Write the parser', kind: 'task', link: '/ui/p/orchestrator-tools/tasks/2' }]
  })
  t.match(await kernel.callById('orchestrator.search', { text: 'a-01' }), { results: [{ kind: 'agent' }] })
  await t.rejects(kernel.callById('orchestrator.tasks.record', { task_id: 9 }), { code: 'ORC_TASK_NOT_FOUND' })
})

t.test('the record of a cancelled task says why it was cancelled', async t => {
  const { orchestrator, kernel } = await openWorld(t)
  await orchestrator.submit({ description: 'Write the lexer', files: [], agent_name: 'one' })
  await orchestrator.submit({ description: 'Write the parser', files: [], agent_name: 'one', depends_on: [1] })
  await orchestrator.cancel(1)
  t.match(await kernel.callById('orchestrator.tasks.record', { task_id: 1 }), {
    state: 'Cancelled',
    reason: 'a user or an agent cancelled it'
  })
  t.match(await kernel.callById('orchestrator.tasks.record', { task_id: 2 }), {
    state: 'Cancelled',
    reason: 'its dependency T-0001 never completes'
  })
})
