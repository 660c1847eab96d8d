import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { coordinationSql as crd, ownIdentity } from '@svc/contracts'
import { noPostgres } from '@svc/plugin-coordination-postgres/testing'
import { FileConnection } from '@svc/plugin-database/testing'
import t, { type Test } from 'tap'
import type { Durable } from '#interpreter'
import { databaseDurable, entry, memoryDurable, ownerOf, runQueue } from '#workflows'
import { openShared, startServer } from './open-shared.ts'

const ADDRESS = { actor: 'A', id: '1', args: '[]' }

interface Opened {
  readonly durable: Durable
  signal(runId: string, key: string, payload: string | null): void
}

const STORES: Record<string, (t: Test) => Opened> = {
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

/** Without PostgreSQL, the tests of its store are skipped; `shared-store.test.ts` says why. */
if (noPostgres === false) {
  const server = await startServer(t)
  STORES['a shared server'] = t => openShared(t, server.url())
}

const run = (runId: string, parent: string | null = null) => ({
  runId,
  workflow: 'w',
  args: '[1]',
  parent,
  plannedSteps: 2,
  isCalled: false
})

/** A lease of an owner for milliseconds from now. */
const lease = (owner: string, milliseconds = 60_000) => {
  const now = Date.now()
  return { owner, now, until: now + milliseconds }
}

/** Waits until a lease of one millisecond has expired. */
const expired = () => sleep(20)

for (const [name, open] of Object.entries(STORES)) {
  t.test(`runs in ${name}: one owner at a time`, async t => {
    const { workflows } = open(t).durable
    t.equal(workflows.find('r'), null)
    t.equal(workflows.claim('r', lease('a')), null)
    t.ok(workflows.create(run('r'), 1))
    t.notOk(workflows.create(run('r'), 1))
    t.match(workflows.find('r'), { runId: 'r', workflow: 'w', args: '[1]', status: 'pending', result: null })
    t.match(workflows.claim('r', lease('a')), { status: 'running', wasInterrupted: false })
    t.equal(workflows.claim('r', lease('b')), null)
    workflows.record('r', 'a', [{ turn: { status: 'pending' } }], 2)
    t.match(workflows.claim('r', lease('a', 1)), { wasInterrupted: false })
    await expired()
    t.match(workflows.claim('r', lease('b')), { wasInterrupted: true })
    workflows.record('r', 'b', [{ turn: { status: 'completed', result: '7' } }], 103)
    t.match(workflows.find('r'), { status: 'completed', result: '7' })
    t.equal(workflows.claim('r', lease('c'), true), null)
    t.throws(() => workflows.record('r', 'b', [], 104), { code: 'RUN_WORKFLOW_LOST' })
  })

  t.test(`runs in ${name}: a failed run is resumed only on request`, async t => {
    const { workflows } = open(t).durable
    workflows.create(run('r'), 1)
    workflows.claim('r', lease('a'))
    workflows.record('r', 'a', [{ turn: { status: 'failed', error: 'RUN_PANIC: x' } }], 2)
    t.match(workflows.find('r'), { status: 'failed', error: 'RUN_PANIC: x' })
    t.equal(workflows.claim('r', lease('b')), null)
    t.match(workflows.claim('r', lease('b'), true), { error: null, wasInterrupted: false })
  })

  t.test(`runs in ${name}: the next owner finds completed steps`, async t => {
    const { workflows } = open(t).durable
    workflows.create(run('r'), 1)
    workflows.claim('r', lease('a'))
    const entries = [entry({ event: 'WorkflowStarted', workflow: 'w', steps: 2 })]
    const attempt = { step: 'w-0', attempt: 1, error: null }
    workflows.record('r', 'a', [{ entries, attempt: { ...attempt, status: 'started' } }], 2)
    t.match(workflows.history('r').attempts.get('w-0'), { attempt: 1, status: 'started' })
    const failed = { ...attempt, status: 'failed', error: 'no' } as const
    workflows.record('r', 'a', [{ attempt: failed, scheduled: { step: 'w-0', activity: 'x', at: 77 } }], 3)
    t.match(workflows.history('r').attempts.get('w-0'), { attempt: 1, status: 'failed' })
    t.equal(workflows.history('r').scheduled.get('w-0'), 77)
    workflows.record('r', 'a', [{ attempt: { ...attempt, attempt: 2, status: 'started' } }], 3)
    t.match(workflows.history('r').attempts.get('w-0'), { attempt: 2, status: 'started' })
    const completed = { step: 'w-0', activity: 'x', event: 'LocalActivity', result: '{"$tag":["Ok",["a b"]]}' }
    workflows.record('r', 'a', [{ completed }], 4)
    const { step: id, ...step } = completed
    t.same(workflows.history('r').completed.get(id), step)
    t.equal(workflows.history('other').completed.size, 0)
  })

  t.test(`runs in ${name}: each signal is consumed once`, async t => {
    const { durable, signal } = open(t)
    const { workflows } = durable
    workflows.create(run('signal'), 1)
    signal('signal', 'other', null)
    signal('signal', 'go', '1')
    signal('signal', 'go', '2')
    t.match(workflows.signal('signal', 'go'), { payload: '1' })
    workflows.claim('signal', lease('a'))
    workflows.record('signal', 'a', [{ signal: workflows.signal('signal', 'go')?.id ?? 0 }], 5)
    t.match(workflows.signal('signal', 'go'), { payload: '2' })
  })

  t.test(`runs in ${name}: a run that continues as new has no steps, and keeps its signals`, async t => {
    const { durable, signal } = open(t)
    const { workflows } = durable
    workflows.create(run('r'), 1)
    workflows.claim('r', lease('a'))
    t.match(workflows.history('r'), { generation: 0, hasBegun: false })
    const entries = [entry({ event: 'WorkflowStarted', workflow: 'w', steps: 2 })]
    const attempt = { step: 'w-0', attempt: 1, status: 'started', error: null, args: ['h'] } as const
    const completed = { step: 'w-0', activity: 'x', event: 'LocalActivity', result: '1' }
    workflows.record('r', 'a', [{ entries, attempt }, { completed }], 2)
    t.match(workflows.history('r'), { generation: 0, hasBegun: true, args: new Map([['w-0', ['h']]]) })
    signal('r', 'go', '1')
    for (const generation of [1, 2]) {
      const continued = [entry({ event: 'WorkflowContinued', workflow: 'w', generation, steps: 1 })]
      workflows.record('r', 'a', [{ entries: continued, turn: { status: 'continued', args: `[${generation}]` } }], 3)
      t.match(workflows.find('r'), { status: 'pending', args: `[${generation}]` })
      workflows.claim('r', lease('a'))
      const { completed: steps, attempts, args, ...rest } = workflows.history('r')
      t.match(rest, { generation, hasBegun: false })
      t.same([steps.size, attempts.size, args.size], [0, 0, 0])
      workflows.record('r', 'a', [{ entries }], 4)
      t.match(workflows.history('r'), { generation, hasBegun: true })
    }
    t.match(workflows.signal('r', 'go'), { payload: '1' })
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

/** A store in a database, with the items that its scheduler can claim. */
function openQueue(t: Test) {
  const connection = new FileConnection({
    file: join(t.testdir(), 'runs.db'),
    busyTimeoutMs: 1000,
    synchronous: 'normal'
  })
  t.teardown(() => connection.close())
  const { workflows } = databaseDurable(connection, { program: 'p', metricSession: null }, () => undefined, null)
  const claim = () =>
    crd.runInThread(connection, crd.claimItems(runQueue('p'), 'scheduler', { max: 9, leaseMs: 60_000 }))
  const outlook = () => {
    const { statements, read } = crd.outlookOf(runQueue('p'))
    return read(statements.map(({ sql, parameters }) => connection.query(sql, parameters)))
  }
  return { connection, workflows, claim, outlook }
}

t.test('a scheduler claims runs that are pending or due, and no child runs', async t => {
  const { connection, workflows, claim, outlook } = openQueue(t)
  for (const id of ['timer', 'signal', 'ended', 'called'])
    workflows.create({ ...run(id), isCalled: id === 'called' }, 1)
  workflows.create(run('child', 'timer'), 1)
  t.match(outlook(), { isReady: true, leased: [] })
  t.same(
    claim().map(({ body }) => body),
    ['timer', 'signal', 'ended'],
    'a caller has a second to run what it calls'
  )
  const now = Date.now()
  for (const { id, fence, body } of outlook().leased.map((token, at) => ({
    ...token,
    body: ['timer', 'signal', 'ended'][at] ?? ''
  })))
    t.match(workflows.adopt({ run: body, owner: 'scheduler', token: { id, fence }, wasInterrupted: false }), {
      runId: body
    })
  workflows.record(
    'timer',
    'scheduler',
    [{ turn: { status: 'waiting', wakeAt: now + 3_600_000, waitingFor: null } }],
    now
  )
  workflows.record('signal', 'scheduler', [{ turn: { status: 'waiting', wakeAt: null, waitingFor: 'go' } }], now)
  workflows.record('ended', 'scheduler', [{ turn: { status: 'completed', result: 'null' } }], now)
  t.same(outlook().leased, [])
  connection.execute(
    "INSERT INTO workflow_signal_log (run_id, signal_key, payload_json, recorded_at_ms) VALUES ('signal', 'go', '1', 0)"
  )
  crd.runInThread(connection, crd.wakeItems(runQueue('p'), ['signal']))
  t.same(
    claim().map(({ body }) => body),
    ['signal']
  )
  t.match(workflows.claim('child', lease('a')), { runId: 'child' })
})

t.test('a signal that arrives while a turn ends is not lost', async t => {
  const { connection, workflows, claim } = openQueue(t)
  workflows.create(run('r'), 1)
  const [item] = claim()
  const token = { id: item?.id ?? 0, fence: item?.fence ?? 0 }
  workflows.adopt({ run: 'r', owner: 'scheduler', token, wasInterrupted: false })
  connection.execute(
    "INSERT INTO workflow_signal_log (run_id, signal_key, payload_json, recorded_at_ms) VALUES ('r', 'go', '1', 0)"
  )
  crd.runInThread(connection, crd.wakeItems(runQueue('p'), ['r']))
  workflows.record('r', 'scheduler', [{ turn: { status: 'waiting', wakeAt: null, waitingFor: 'go' } }], 2)
  t.match(claim(), [{ body: 'r' }])
})

t.test('a claim of a scheduler that another owner has taken is refused', async t => {
  const { workflows, claim } = openQueue(t)
  workflows.create(run('r'), 1)
  const [item] = claim()
  const token = { id: item?.id ?? 0, fence: item?.fence ?? 0 }
  t.equal(workflows.claim('r', lease('b')), null, 'it is leased')
  t.equal(workflows.adopt({ run: 'r', owner: 'x', token: { ...token, fence: 0 }, wasInterrupted: false }), null)
  t.match(workflows.adopt({ run: 'r', owner: 'x', token, wasInterrupted: true }), { wasInterrupted: true })
})

t.test('the lease of a process that has ended does not block others', async t => {
  const { workflows } = (STORES.database as (t: Test) => Opened)(t).durable
  workflows.create(run('r'), 1)
  const dead = ownerOf('x').replace(/^\d+/, '4194999')
  workflows.claim('r', lease(dead, 1e9))
  t.match(workflows.claim('r', lease(ownerOf('y'))), { wasInterrupted: true })
  t.equal(workflows.claim('r', lease(ownerOf('z'))), null)
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
      for (const id of ['long', 'short']) workflows.create(run(id), 1)
      workflows.claim('long', lease(owner))
      workflows.claim('short', lease(owner, 1))
      await expired()
      t.equal(workflows.claim('long', lease(ownerOf('y'))), null, name)
      t.match(workflows.claim('short', lease(ownerOf('y'))), { wasInterrupted: true }, name)
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
  const readyIn = (queue: string): boolean => {
    const { statements, read } = crd.outlookOf(queue)
    return read(statements.map(({ sql, parameters }) => connection.query(sql, parameters))).isReady
  }
  of('a').workflows.create(run('r'), 1)
  of('a').actors.save('k', '1')
  of('a').actors.post(ADDRESS, 'e', '[]', 1)
  t.equal(readyIn(runQueue('b')), false)
  t.equal(of('b').actors.load('k'), null)
  t.same(of('b').actors.waiting(5), [])
  t.equal(readyIn(runQueue('a')), true)
})
