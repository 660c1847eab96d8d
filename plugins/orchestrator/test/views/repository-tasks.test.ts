import { hostname } from 'node:os'
import type { ForeignTask, Orchestrator, TaskView, TaskViewSource } from '@svc/contracts'
import t from 'tap'
import { JoinedTasks } from '#views'

const signal = new AbortController().signal
const task = (id: number): TaskView => ({ id, status: { kind: 'Queued' } }) as TaskView

const foreign = (id: number, host: string, seat: number | null = null): ForeignTask => ({
  ...task(id),
  process: { host, pid: 1, seat, alive: true, own: false }
})

function join(own: readonly number[], sources: readonly TaskViewSource[], log: string[] = []) {
  const orchestrator = {
    task: (id: number) => (own.includes(id) ? task(id) : null),
    tasks: () => own.map(task),
    agents: () => []
  } as unknown as Orchestrator
  const warn = (message: string): void => void log.push(message)
  return new JoinedTasks({ orchestrator, seat: () => 1, sources: () => sources, log: { warn } })
}

const sourceOf = (id: string, tasks: readonly ForeignTask[], more: Partial<TaskViewSource> = {}): TaskViewSource => ({
  id,
  list: async ({ task }) => tasks.filter(each => task === undefined || each.id === task),
  ...more
})

const ids = (tasks: readonly { readonly id: number; readonly process: { readonly host: string } }[]) =>
  tasks.map(({ id, process }) => `${id}@${process.host === hostname() ? 'here' : process.host}`)

t.test('joins the tasks of all sources by id; the same database never shows a task twice', async t => {
  const seats = sourceOf('seats', [foreign(2, 'box', 2), foreign(4, 'box', 2)])
  const mesh = sourceOf('mesh', [foreign(2, 'far'), foreign(3, 'far')])
  const tasks = join([1, 2], [seats, mesh])
  const { items, failed } = await tasks.list({}, signal)
  t.same(ids(items), ['1@here', '2@here', '2@far', '3@far', '4@box'])
  t.same(failed, [])
  t.same(ids((await tasks.list({ limit: 1 }, signal)).items), ['1@here'])
  t.same(ids((await tasks.list({ limit: 2 }, signal)).items), ['1@here', '2@here', '2@far'], 'no number is cut')
  t.same(ids((await tasks.list({ own: true }, signal)).items), ['1@here', '2@here'])
})

t.test('a source that fails is named once in the log, and in each answer', async t => {
  const log: string[] = []
  let broken = true
  const flaky = sourceOf('flaky', [foreign(7, 'far')], {
    async list({ task = 7 }) {
      if (broken) throw new Error('the network is down')
      return task === 7 ? [foreign(7, 'far')] : []
    }
  })
  const tasks = join([1], [flaky, sourceOf('mesh', [foreign(3, 'near')])], log)
  for (let read = 0; read < 2; read += 1) {
    const { items, failed } = await tasks.list({}, signal)
    t.same(ids(items), ['1@here', '3@near'])
    t.same(failed, [{ source: 'flaky', error: 'the network is down' }])
  }
  t.equal(log.length, 1)
  await t.rejects(tasks.find({ id: 7 }, signal), { code: 'ORC_ELSEWHERE', message: /flaky: the network is down/ })
  t.match(await tasks.find({ id: 1 }, signal), { id: 1 })
  broken = false
  t.same(ids((await tasks.list({}, signal)).items), ['1@here', '3@near', '7@far'])
})

t.test('a number of several hosts needs the host, and a task of this process takes precedence', async t => {
  const acted: unknown[] = []
  const act: TaskViewSource['act'] = async ({ id, process }, verb, args) => acted.push([id, process.host, verb, args])
  const mesh = sourceOf('mesh', [foreign(1, 'a'), foreign(2, 'a'), foreign(2, 'b')], { act })
  const tasks = join([1], [mesh, sourceOf('silent', [foreign(5, 'c')])])
  t.match(await tasks.find({ id: 1 }, signal), { process: { own: true } })
  t.match(await tasks.find({ id: 1, host: hostname() }, signal), { process: { own: true } })
  t.match(await tasks.find({ id: 1, host: 'a' }, signal), { process: { host: 'a' } })
  await t.rejects(tasks.find({ id: 2 }, signal), { code: 'ORC_TASK_AMBIGUOUS', hint: /T-0002@a/ })
  t.equal(await tasks.find({ id: 2, host: 'c' }, signal), null)
  const held = await tasks.heldElsewhere({ id: 2, host: 'b' }, signal)
  const caller = { principal: { id: 'ann', role: 'owner', scopes: [] }, requestId: 'r', signal }
  await tasks.act(held as ForeignTask, 'cancel', { why: 'x' }, caller)
  t.same(acted, [[2, 'b', 'cancel', { why: 'x' }]])
  const silent = await tasks.find({ id: 5 }, signal)
  await t.rejects(tasks.act(silent as ForeignTask, 'cancel', {}, caller), {
    code: 'ORC_ELSEWHERE',
    message: /requests are not passed on; nothing changed/
  })
  t.equal(await tasks.heldElsewhere({ id: 1 }, signal), null)
})

t.test('unchanged sources are not listed again', async t => {
  let version = 'a'
  let lists = 0
  let broken = false
  const seats = sourceOf('seats', [], {
    version: async () => version,
    async list() {
      if (broken) throw new Error('the database is busy')
      lists += 1
      return [foreign(3, 'box', 2)]
    }
  })
  const tasks = join([], [seats])
  const first = await tasks.foreign(undefined, signal)
  t.same(ids(first?.tasks ?? []), ['3@box'])
  t.equal(await tasks.foreign(first?.version, signal), null)
  t.equal(lists, 1)
  version = 'b'
  t.equal((await tasks.foreign(first?.version, signal))?.tasks.length, 1)
  broken = true
  version = 'c'
  t.equal(await tasks.foreign(first?.version, signal), null, 'the earlier tasks stay while a source fails')
  const plain = join([], [sourceOf('mesh', [foreign(3, 'far')])])
  const { version: of } = (await plain.foreign(undefined, signal)) ?? {}
  t.equal((await plain.foreign(of, signal))?.tasks.length, 1, 'a source without versions is always listed')
})
