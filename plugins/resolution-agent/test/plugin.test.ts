import t from 'tap'
import { sessionOf, taskOf } from '#root'
import { eventually, openWorld } from './open-world.ts'

type World = Awaited<ReturnType<typeof openWorld>>

const question = ({ clarifications }: World, task: number) => eventually(() => clarifications.latest(sessionOf(task)))

const withdrawn = ({ clarifications }: World, task: number) =>
  eventually(async () => ((await clarifications.latest(sessionOf(task))) === null ? true : null))

const status = ({ orchestrator }: World, task: number, kind: string) =>
  eventually(() => {
    const view = orchestrator.task(task)
    return view?.status.kind === kind ? view : null
  })

t.test('a doubt that a person finds wrong completes the task, with an audit report', async t => {
  const world = await openWorld(t)
  const task = await world.doubted('add a cache', 'the tests were not run')
  const { prompt } = await question(world, task)
  t.match(prompt, /doubt about the task T-\d+ right\?\nDoubt: the tests were not run\nTask: add a cache/i)
  t.match(await world.call('questioning.list', {}), { questions: [{ session: sessionOf(task) }] })
  t.same(await world.call('questioning.inbox', {}), { items: [] }, 'the inbox has the doubt itself')
  await world.call('questioning.answer', { session_id: sessionOf(task), answer_text: 'overruled' })
  const { audit_report } = await status(world, task, 'Completed')
  t.match(audit_report, /^OVERRULED: .*add a cache\nDoubt: the tests were not run\n/)
  t.match(audit_report, /by a person: overruled\nOutcome: overruled: the task is complete$/)
  await withdrawn(world, task)
  const reward = await eventually(() => world.rewards[0] ?? null)
  t.match(reward, { type: 'task_resolved', task_id: task, validated: false, report: /Outcome: overruled/ })
})

t.test('a doubt that a person finds right lets the task continue', async t => {
  const world = await openWorld(t)
  const task = await world.doubted('add a cache', null)
  t.match((await question(world, task)).prompt, /Doubt: no reason stated/)
  const answer = { session_id: sessionOf(task), answer_text: 'The doubt is right: the task continues' }
  await world.call('questioning.answer', answer)
  const { audit_report } = await status(world, task, 'Queued')
  t.match(audit_report, /Outcome: validated: the task continues$/)
  t.match(await eventually(() => world.rewards[0] ?? null), { validated: true })
})

t.test('an answer in other words lets the task continue with them', async t => {
  const world = await openWorld(t)
  const task = await world.doubted('add a cache', 'which cache?')
  await question(world, task)
  await world.call('questioning.answer', { session_id: sessionOf(task), answer_text: 'Use Redis.' })
  t.match((await status(world, task, 'Queued')).audit_report, /by a person: Use Redis\.\nOutcome: validated/)
})

t.test('the question is withdrawn when the doubt is resolved elsewhere, or the task is cancelled', async t => {
  const world = await openWorld(t)
  const resolved = await world.doubted('one', 'why?')
  const cancelled = await world.doubted('two', 'why?')
  await question(world, resolved)
  await question(world, cancelled)
  await world.orchestrator.resolveDoubt(resolved, 'overruled', 'I looked at it.')
  await world.orchestrator.cancel(cancelled)
  await withdrawn(world, resolved)
  await withdrawn(world, cancelled)
  t.same(await world.call('questioning.list', {}), { questions: [], note: 'no question is pending' })
  t.match(world.rewards, [{ task_id: resolved, report: 'I looked at it.' }], 'the report is submitted all the same')
})

t.test('a task that is doubted again is asked about again: an earlier answer is none to the new doubt', async t => {
  const world = await openWorld(t)
  const task = await world.doubted('add a cache', 'first doubt')
  await question(world, task)
  await world.call('questioning.answer', { session_id: sessionOf(task), answer_text: 'validated' })
  await status(world, task, 'Queued')
  await world.orchestrator.doubt(task, 'second doubt')
  const again = await eventually(async () => {
    const latest = await world.clarifications.latest(sessionOf(task))
    return latest?.prompt.includes('second doubt') === true ? latest : null
  })
  t.equal(again.answer, null)
  t.equal(world.orchestrator.task(task)?.status.kind, 'Doubted')
})

t.test('an answer that was stored while the process was down resolves the doubt at its next start', async t => {
  const folder = t.testdir()
  const first = await openWorld(t, { folder })
  const task = await first.doubted('add a cache', 'is it needed?')
  await question(first, task)
  await first.close()
  const other = await openWorld(t, { folder, resolves: false })
  await other.call('questioning.answer', { session_id: sessionOf(task), answer_text: 'overruled' })
  t.equal(other.orchestrator.task(task)?.status.kind, 'Doubted')
  await other.close()
  const second = await openWorld(t, { folder })
  t.match((await status(second, task, 'Completed')).audit_report, /^OVERRULED/)
})

t.test('a question of a doubt that was resolved while the process was down is withdrawn at its next start', async t => {
  const folder = t.testdir()
  const first = await openWorld(t, { folder })
  const task = await first.doubted('add a cache', 'is it needed?')
  await question(first, task)
  await first.close()
  const other = await openWorld(t, { folder, resolves: false })
  await other.orchestrator.resolveDoubt(task, 'validated', 'It is.')
  await other.close()
  const second = await openWorld(t, { folder })
  await withdrawn(second, task)
  t.equal(second.orchestrator.task(task)?.status.kind, 'Queued')
})

t.test('only sessions of doubts name a task', t => {
  t.equal(taskOf(sessionOf(7)), 7)
  for (const other of ['doubt:', 'doubt:0', 'doubt:07', 'doubt:1 ', 'xdoubt:1', 'doubt:1e3', 's'])
    t.equal(taskOf(other), null)
  t.end()
})
