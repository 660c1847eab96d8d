import { join } from 'node:path'
import { ownIdentity } from '@svc/contracts'
import { FileConnection } from '@svc/plugin-database/testing'
import t, { type Test } from 'tap'
import type { Durable } from '#interpreter'
import { databaseDurable, entry, memoryDurable, ownerOf } from '#workflows'

const ADDRESS = { actor: 'A', id: '1', args: '[]' }

interface Opened {
  readonly durable: Durable
  signal(runId: string, key: string, payload: string | null): void
}

const STORES: Readonly<Record<string, (t: Test) => Opened>> = {
  memory() {
    const durable = memoryDurable(() => undefined)
    return { durable, signal: (...args) => void durable.workflows.send(...args) }
  },
  database(t) {
    const connection = new FileConnection({
      file: join(t.testdir(), 'runs.db'),
      busyTimeoutMs: 1000,
      synchronous: 'normal'
    })
    t.teardown(() => connection.close())
    const durable = databaseDurable(connection, { program: 'p', metricSession: null }, () => undefined, null)
    return {
      durable,
      signal: (runId, key, payload) =>
        void connection.execute(
          'INSERT INTO workflow_signal_log (run_id, signal_key, payload_json, recorded_at_ms) VALUES (?, ?, ?, 0)',
          [runId, key, payload]
        )
    }
  }
}

const run = (runId: string, parent: string | null = null) => ({
  runId,
  workflow: 'w',
  args: '[1]',
  parent,
  plannedSteps: 2
})

for (const [name, open] of Object.entries(STORES)) {
  t.test(`runs in ${name}: one owner at a time`, async t => {
    const { workflows } = open(t).durable
    t.equal(workflows.find('r'), null)
    t.equal(workflows.claim('r', { owner: 'a', now: 1, until: 9 }), null)
    t.ok(workflows.create(run('r'), 1))
    t.notOk(workflows.create(run('r'), 1))
    t.match(workflows.find('r'), { runId: 'r', workflow: 'w', args: '[1]', status: 'pending', result: null })
    t.match(workflows.claim('r', { owner: 'a', now: 1, until: 100 }), { status: 'running', wasInterrupted: false })
    t.equal(workflows.claim('r', { owner: 'b', now: 50, until: 150 }), null)
    t.match(workflows.claim('r', { owner: 'b', now: 101, until: 200 }), { wasInterrupted: true })
    t.throws(() => workflows.record('r', 'a', {}, 102), { code: 'RUN_WORKFLOW_LOST' })
    workflows.record('r', 'b', { turn: { status: 'completed', result: '7' } }, 103)
    t.match(workflows.find('r'), { status: 'completed', result: '7' })
    t.equal(workflows.claim('r', { owner: 'c', now: 300, until: 400 }, true), null)
    t.throws(() => workflows.record('r', 'b', {}, 104), { code: 'RUN_WORKFLOW_LOST' })
  })

  t.test(`runs in ${name}: a failed run is resumed only on request`, async t => {
    const { workflows } = open(t).durable
    workflows.create(run('r'), 1)
    workflows.claim('r', { owner: 'a', now: 1, until: 100 })
    workflows.record('r', 'a', { turn: { status: 'failed', error: 'RUN_PANIC: x' } }, 2)
    t.match(workflows.find('r'), { status: 'failed', error: 'RUN_PANIC: x' })
    t.equal(workflows.claim('r', { owner: 'b', now: 3, until: 100 }), null)
    t.match(workflows.claim('r', { owner: 'b', now: 3, until: 100 }, true), { error: null, wasInterrupted: false })
  })

  t.test(`runs in ${name}: the next owner finds completed steps`, async t => {
    const { workflows } = open(t).durable
    workflows.create(run('r'), 1)
    workflows.claim('r', { owner: 'a', now: 1, until: 100 })
    const entries = [entry({ event: 'WorkflowStarted', workflow: 'w', steps: 2 })]
    const attempt = { activityId: 'w-0', attempt: 1, error: null }
    workflows.record('r', 'a', { entries, attempt: { ...attempt, status: 'started' } }, 2)
    t.match(workflows.history('r').attempts.get('w-0'), { attempt: 1, status: 'started' })
    const failed = { ...attempt, status: 'failed', error: 'no' } as const
    workflows.record('r', 'a', { attempt: failed, scheduled: { activityId: 'w-0', activity: 'x', at: 77 } }, 3)
    t.match(workflows.history('r').attempts.get('w-0'), { attempt: 1, status: 'failed' })
    t.equal(workflows.history('r').scheduled.get('w-0'), 77)
    workflows.record('r', 'a', { attempt: { ...attempt, attempt: 2, status: 'started' } }, 3)
    t.match(workflows.history('r').attempts.get('w-0'), { attempt: 2, status: 'started' })
    const completed = { activityId: 'w-0', activity: 'x', event: 'LocalActivity', result: '{"$tag":["Ok",["a b"]]}' }
    workflows.record('r', 'a', { completed }, 4)
    const { activityId, ...step } = completed
    t.same(workflows.history('r').completed.get(activityId), step)
    t.equal(workflows.history('other').completed.size, 0)
  })

  t.test(`runs in ${name}: waiting runs are due at their time, or with their signal`, async t => {
    const { durable, signal } = open(t)
    const { workflows } = durable
    for (const id of ['timer', 'signal', 'begun']) workflows.create(run(id), 1)
    workflows.create(run('child', 'timer'), 1)
    t.same(new Set(workflows.due(2)), new Set(['timer', 'signal', 'begun']), 'a run with an owner is not due')
    for (const id of ['timer', 'signal', 'begun']) workflows.claim(id, { owner: 'a', now: 1, until: 100 })
    t.same(workflows.due(2), [])
    t.same(workflows.due(101).length, 3, 'runs are due when their lease has expired')
    workflows.record('timer', 'a', { turn: { status: 'waiting', wakeAt: 50, waitingFor: null } }, 3)
    workflows.record('signal', 'a', { turn: { status: 'waiting', wakeAt: null, waitingFor: 'go' } }, 3)
    workflows.record('begun', 'a', { turn: { status: 'completed', result: 'null' } }, 3)
    t.same(workflows.due(49), [])
    t.same(workflows.due(50), ['timer'])
    t.equal(workflows.nextWake(), 50)
    signal('signal', 'other', null)
    t.same(workflows.due(4), [])
    signal('signal', 'go', '1')
    signal('signal', 'go', '2')
    t.same(workflows.due(4), ['signal'])
    t.match(workflows.signal('signal', 'go'), { payload: '1' })
    workflows.claim('signal', { owner: 'a', now: 1, until: 100 })
    workflows.record('signal', 'a', { signal: workflows.signal('signal', 'go')?.id ?? 0 }, 5)
    t.match(workflows.signal('signal', 'go'), { payload: '2' }, 'each signal is consumed once')
  })

  t.test(`actors in ${name}: a transaction is atomic`, async t => {
    const { actors } = open(t).durable
    t.notOk(actors.inTransaction)
    t.equal(actors.load('k'), null)
    actors.save('k', '1')
    t.throws(
      () =>
        actors.transaction(() => {
          t.ok(actors.inTransaction)
          actors.save('k', '2')
          actors.save('other', '2')
          actors.post(ADDRESS, 'e', '[]', 1)
          throw new Error('no')
        }),
      { message: 'no' }
    )
    t.equal(actors.load('k'), '1')
    t.equal(actors.load('other'), null)
    t.same(actors.waiting(5), [])
    t.equal(
      actors.transaction(() =>
        actors.transaction(() => {
          actors.save('k', '3')
          return 'done'
        })
      ),
      'done'
    )
    t.equal(actors.load('k'), '3')
  })

  t.test(`actors in ${name}: messages wait in order`, async t => {
    const { actors } = open(t).durable
    actors.post(ADDRESS, 'first', '[1]', 1)
    actors.post(ADDRESS, 'second', '[2]', 1)
    actors.post({ ...ADDRESS, id: '2' }, 'other', '[]', 9)
    t.same(actors.waiting(5), [ADDRESS])
    t.equal(actors.nextDue(), 1)
    const first = actors.next('A', '1', 5)
    t.match(first, { event: 'first', args: '[1]', attempts: 0 })
    actors.failed(first?.id ?? 0, 'no', 8, 5)
    t.equal(actors.next('A', '1', 7), null)
    t.match(actors.next('A', '1', 8), { event: 'first', attempts: 1 })
    actors.failed(first?.id ?? 0, 'no', null, 8)
    const second = actors.next('A', '1', 8)
    t.match(second, { event: 'second' })
    actors.remove(second?.id ?? 0)
    t.equal(actors.next('A', '1', 8), null)
    t.equal(actors.nextDue(), 9)
  })
}

t.test('the lease of a process that has ended does not block others', async t => {
  const { workflows } = (STORES.database as (t: Test) => Opened)(t).durable
  workflows.create(run('r'), 1)
  const dead = ownerOf('x').replace(/^\d+/, '4194999')
  workflows.claim('r', { owner: dead, now: 1, until: 1e15 })
  t.same(workflows.due(2), ['r'])
  t.match(workflows.claim('r', { owner: ownerOf('y'), now: 2, until: 1e15 }), { wasInterrupted: true })
  t.same(workflows.due(3), [])
})

t.test(
  'a process that cannot be seen keeps its run until its lease ends',
  { skip: ownIdentity().start === null },
  async t => {
    const { pid, start } = ownIdentity()
    const [boot, namespace, ticks] = start?.split(' ') ?? []
    // On this host, no process has this id.
    const gone = (place: string) =>
      ownerOf('x')
        .replace(/^\d+/, '4194999')
        .replace(start as string, place)
    const owners = [
      ['of another boot', gone(`another-boot ${namespace} ${ticks}`)],
      ['in another PID namespace', gone(`${boot} pid:[1] ${ticks}`)],
      ['on another host', `${pid}@elsewhere x ${start}`]
    ] as const
    for (const [name, owner] of owners) {
      const { workflows } = (STORES.database as (t: Test) => Opened)(t).durable
      workflows.create(run('r'), 1)
      workflows.claim('r', { owner, now: 1, until: 1000 })
      t.same(workflows.due(999), [], name)
      t.equal(workflows.claim('r', { owner: ownerOf('y'), now: 999, until: 1e15 }), null, name)
      t.same(workflows.due(1000), ['r'], name)
      t.match(workflows.claim('r', { owner: ownerOf('y'), now: 1000, until: 1e15 }), { wasInterrupted: true }, name)
    }
  }
)

t.test('the row of a run has its plan step, if one is set', async t => {
  const connection = new FileConnection({
    file: join(t.testdir(), 'runs.db'),
    busyTimeoutMs: 1000,
    synchronous: 'normal'
  })
  t.teardown(() => connection.close())
  const options = { program: 'p', metricSession: null }
  const plan = { session: 'plan-1', node: 'n2', version: 3 }
  databaseDurable(connection, { ...options, plan }, () => undefined, null).workflows.create(run('planned'), 1)
  databaseDurable(connection, options, () => undefined, null).workflows.create(run('other'), 1)
  const columns = 'plan_session_id, plan_node_id, plan_version'
  const rowOf = (id: string) => connection.row(`SELECT ${columns} FROM workflow_run_log WHERE run_id = ?`, [id])
  t.same(Object.values(rowOf('planned') ?? {}), ['plan-1', 'n2', 3])
  t.same(Object.values(rowOf('other') ?? {}), [null, null, null])
})

t.test("programs in one database do not see each other's runs and actors", async t => {
  const connection = new FileConnection({
    file: join(t.testdir(), 'runs.db'),
    busyTimeoutMs: 1000,
    synchronous: 'normal'
  })
  t.teardown(() => connection.close())
  const of = (program: string) => databaseDurable(connection, { program, metricSession: null }, () => undefined, null)
  of('a').workflows.create(run('r'), 1)
  of('a').actors.save('k', '1')
  of('a').actors.post(ADDRESS, 'e', '[]', 1)
  t.same(of('b').workflows.due(5), [])
  t.equal(of('b').actors.load('k'), null)
  t.same(of('b').actors.waiting(5), [])
  t.same(of('a').workflows.due(5), ['r'])
})
