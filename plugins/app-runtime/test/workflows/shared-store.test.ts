import { setTimeout as sleep } from 'node:timers/promises'
import { noPostgres } from '@svc/plugin-coordination-postgres/testing'
import t from 'tap'
import { entry, ownerOf } from '#workflows'
import { openMainThread, openShared, startServer } from './open-shared.ts'

const run = (runId: string, parent: string | null = null) => ({
  runId,
  workflow: 'w',
  args: '[1]',
  parent,
  plannedSteps: 2,
  isCalled: false
})

const lease = (owner: string, milliseconds = 60_000) => {
  const now = Date.now()
  return { owner, now, until: now + milliseconds }
}

t.test('runs on a server that hosts share', { skip: noPostgres }, async t => {
  const server = await startServer(t)
  const open = () => openShared(t, server.url())

  t.test('a scheduler claims runs that are pending or due, and no child runs', async t => {
    const { durable, signal, claimReady, outlook } = open()
    const { workflows } = durable
    for (const id of ['timer', 'signal', 'ended', 'called'])
      workflows.create({ ...run(id), isCalled: id === 'called' }, 1)
    workflows.create(run('child', 'timer'), 1)
    t.match(outlook(), { isReady: true, leased: [] })
    const claimed = claimReady('scheduler')
    t.same(
      claimed.map(({ runId }) => runId),
      ['timer', 'signal', 'ended'],
      'a caller has a second to run what it calls'
    )
    for (const { runId, ...rest } of claimed) {
      t.match(workflows.find(runId), { status: 'pending' }, 'no turn has begun')
      t.match(workflows.adopt({ run: runId, owner: 'scheduler', ...rest }), { runId, status: 'running' })
    }
    const now = Date.now()
    const waiting = { status: 'waiting', wakeAt: now + 3_600_000, waitingFor: null } as const
    workflows.record('timer', 'scheduler', [{ turn: waiting }], now)
    workflows.record('signal', 'scheduler', [{ turn: { ...waiting, wakeAt: null, waitingFor: 'go' } }], now)
    workflows.record('ended', 'scheduler', [{ turn: { status: 'completed', result: 'null' } }], now)
    t.same(outlook().leased, [])
    signal('signal', 'other', null)
    t.notOk(
      claimReady('scheduler').some(({ runId }) => runId === 'signal'),
      'it waits for another signal'
    )
    signal('signal', 'go', '1')
    t.ok(claimReady('scheduler').some(({ runId }) => runId === 'signal'))
    t.match(workflows.claim('child', lease('a')), { runId: 'child' })
  })

  t.test('a signal that arrives while a turn ends is not lost', async t => {
    const { durable, signal, claimReady } = open()
    const { workflows } = durable
    workflows.create(run('r'), 1)
    const [claimed] = claimReady('scheduler')
    if (claimed === undefined) throw new Error('not claimed')
    workflows.adopt({ run: 'r', owner: 'scheduler', ...claimed })
    signal('r', 'go', '1')
    workflows.record('r', 'scheduler', [{ turn: { status: 'waiting', wakeAt: null, waitingFor: 'go' } }], 2)
    t.match(claimReady('scheduler'), [{ runId: 'r', wasInterrupted: false }])
  })

  t.test('a claim that another owner has taken changes nothing', async t => {
    const { durable, claimReady } = open()
    const other = openShared(t, server.url(), 'both').durable.workflows
    const first = openShared(t, server.url(), 'both').durable.workflows
    first.create(run('r'), 1)
    first.claim('r', lease('a', 1))
    await sleep(20)
    t.match(other.claim('r', lease('b')), { wasInterrupted: true })
    const completed = { step: 'w-0', activity: 'x', event: 'LocalActivity', result: '1' }
    const entries = [entry({ event: 'WorkflowStarted', workflow: 'w', steps: 2 })]
    t.throws(() => first.record('r', 'a', [{ entries, completed }], 2), { code: 'RUN_WORKFLOW_LOST' })
    t.match(first.history('r'), { hasBegun: false, completed: new Map() })
    durable.workflows.create(run('r'), 1)
    const [claimed] = claimReady('scheduler')
    if (claimed === undefined) throw new Error('not claimed')
    const stale = { ...claimed, token: { ...claimed.token, fence: claimed.token.fence - 1 } }
    const { workflows } = durable
    t.equal(workflows.adopt({ run: 'r', owner: 'x', ...stale, fresh: null }), null)
    t.match(claimed.fresh, { runId: 'r', args: '[1]' })
    t.match(
      workflows.adopt({ run: 'r', owner: 'x', ...stale }),
      { runId: 'r' },
      'a run without a history is not read again'
    )
    t.match(workflows.history('r'), { generation: 0, hasBegun: false })
    t.throws(
      () => workflows.record('r', 'x', [{ entries }], 2),
      { code: 'RUN_WORKFLOW_LOST' },
      'its first change is refused'
    )
  })

  t.test('the lease of a process of this host that has ended does not block others', async t => {
    const { workflows } = open().durable
    workflows.create(run('r'), 1)
    workflows.claim('r', lease(ownerOf('x').replace(/^\d+/, '4194999'), 1e9))
    t.match(workflows.claim('r', lease(ownerOf('y'))), { wasInterrupted: true })
    t.equal(workflows.claim('r', lease(ownerOf('z'))), null)
  })

  t.test('a run that a transaction starts begins after its commit, once, and not after a rollback', async t => {
    const bed = open()
    const { durable, connection } = bed
    const { workflows } = durable
    const { shared, forward } = await openMainThread(t, server.url(), bed)
    connection.begin('write')
    t.ok(workflows.create(run('r'), 1))
    connection.rollback()
    await forward()
    t.equal(workflows.find('r'), null)

    connection.begin('write')
    t.ok(workflows.create(run('r'), 1))
    t.ok(workflows.create(run('r'), 1), 'once more')
    t.throws(() => workflows.create({ ...run('r'), workflow: 'other' }, 1), {
      code: 'RUN_WORKFLOW_CHANGED',
      message: /the run r belongs to the workflow w, not to other/
    })
    connection.commit()
    t.equal(workflows.find('r'), null, 'the server does not know it yet')
    const [start = []] = connection.rows('SELECT * FROM workflow_start_outbox')
    await forward()
    t.match(workflows.find('r'), { runId: 'r', status: 'pending', args: '[1]' })

    // The process ended before it removed the start, and the run was deleted before the next one looked.
    workflows.claim('r', lease('a'))
    workflows.record('r', 'a', [{ turn: { status: 'completed', result: 'null' } }], 2)
    connection.execute('INSERT INTO workflow_start_outbox VALUES (?, ?, ?, ?, ?)', start)
    t.equal(await shared.prune({ program: 'p', runs: 0, before: 9, dryRun: false }), 1)
    await forward()
    t.same(connection.rows('SELECT * FROM workflow_start_outbox'), [])
    t.equal(workflows.find('r'), null, 'it does not run again')

    connection.begin('write')
    workflows.create(run('r'), 1)
    connection.commit()
    await forward()
    t.match(workflows.find('r'), { status: 'pending' }, 'the id of a deleted run can be used again')
  })

  t.test('a caller of a run whose start is stored begins it', async t => {
    const { durable, connection } = open()
    connection.begin('write')
    durable.workflows.create(run('r'), 1)
    connection.commit()
    t.match(durable.workflows.claim('r', lease('a')), { runId: 'r', wasInterrupted: false })
    t.same(connection.rows('SELECT * FROM workflow_start_outbox'), [])
  })

  t.test('a start of a run whose id another workflow has is dropped, and logged', async t => {
    const bed = open()
    const { durable, connection } = bed
    const { logged, forward } = await openMainThread(t, server.url(), bed)
    durable.workflows.create({ ...run('r'), workflow: 'other' }, 1)
    connection.begin('write')
    durable.workflows.create(run('r'), 1)
    connection.commit()
    await forward()
    t.same(connection.rows('SELECT * FROM workflow_start_outbox'), [])
    t.match(logged, [/the run r of w was not started: the id belongs to a run of other/])
  })

  t.test('repositories do not see the runs of each other', async t => {
    const [a, b] = [open(), open()]
    a.durable.workflows.create(run('r'), 1)
    t.equal(b.durable.workflows.find('r'), null)
    t.same(b.claimReady('x'), [])
    t.ok(b.durable.workflows.create(run('r'), 1))
  })
})
