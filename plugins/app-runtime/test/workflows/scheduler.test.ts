import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { coordinationSql as crd, type DatabaseStore } from '@svc/contracts'
import { FileConnection, openFile } from '@svc/plugin-database/testing'
import t, { type Test } from 'tap'
import { DurableScheduler, databaseDurable, ownerOf, prepareStore, runQueue } from '#workflows'

type Perform = Parameters<typeof DurableScheduler.start>[0]['perform']

interface World {
  readonly store: DatabaseStore
  readonly connection: FileConnection
  readonly durable: ReturnType<typeof databaseDurable>
  start(perform: Perform, atOnce?: number): Promise<DurableScheduler>
}

async function openWorld(t: Test): Promise<World> {
  const place = { file: join(t.testdir(), 'runs.db'), busyTimeoutMs: 5_000, synchronous: 'normal' } as const
  const store = await openFile(place.file, place)
  const connection = new FileConnection(place)
  await prepareStore(store)
  const schedulers: DurableScheduler[] = []
  t.teardown(async () => {
    for (const each of schedulers) await each.close()
    connection.close()
    await store.close()
  })
  return {
    store,
    connection,
    durable: databaseDurable(
      connection,
      { program: 'p', metricSession: null },
      () => undefined,
      () => undefined
    ),
    async start(perform, atOnce = 2) {
      const log = { debug() {}, info() {}, warn() {}, error() {} }
      const scheduler = await DurableScheduler.start({ store, program: 'p', metricSession: null, log, atOnce, perform })
      schedulers.push(scheduler)
      return scheduler
    }
  }
}

const run = (runId: string) => ({ runId, workflow: 'w', args: '[]', parent: null, plannedSteps: 0, isCalled: false })

const DONE = { status: 200, body: '{"kind":"completed","more":false}' }

async function until(is: () => boolean): Promise<void> {
  for (let left = 4_800; left > 0 && !is(); left--) await sleep(25)
}

t.test('each pending run gets one turn at a time, and turns are limited', async t => {
  const { durable, start } = await openWorld(t)
  for (let at = 0; at < 40; at++) durable.workflows.create(run(`r${at}`), at)
  const seen: string[] = []
  let [now, most] = [0, 0]
  await start(async work => {
    if (!('claim' in work)) return DONE
    now += 1
    most = Math.max(most, now)
    seen.push(work.claim.run)
    t.match(durable.workflows.adopt(work.claim), { runId: work.claim.run, wasInterrupted: false })
    await sleep(1)
    durable.workflows.record(work.claim.run, work.claim.owner, [{ turn: { status: 'completed', result: '1' } }], 9)
    now -= 1
    return DONE
  })
  await until(() => seen.length === 40)
  t.same(
    seen,
    Array.from({ length: 40 }, (_, at) => `r${at}`),
    'in order, each once'
  )
  t.equal(most, 2)
})

t.test('a run that was claimed ahead stays as it is until its first change, which marks it as running', async t => {
  const { durable, connection, start } = await openWorld(t)
  const { workflows } = durable
  for (const id of ['timer', 'new', 'next']) workflows.create(run(id), 1)
  workflows.claim('timer', { owner: 'earlier', now: 1, until: 9 })
  workflows.record('timer', 'earlier', [{ turn: { status: 'waiting', wakeAt: 1, waitingFor: null } }], 1)
  const statuses = () => connection.rows('SELECT run_id, status FROM workflow_run_log ORDER BY run_id')
  const waits = () => connection.row("SELECT wake_at_ms FROM workflow_run_state WHERE run_id = 'timer'")?.[0]
  let turns = 0
  await start(async work => {
    if (!('claim' in work)) return DONE
    const { run: id, owner } = work.claim
    turns += 1
    workflows.adopt(work.claim)
    if (turns === 1) {
      t.same(statuses(), [
        ['new', 'pending'],
        ['next', 'pending'],
        ['timer', 'waiting']
      ])
      t.equal(waits(), 1)
    }
    workflows.record(id, owner, [{ attempt: { step: 'w-0', attempt: 1, status: 'started', error: null } }], 5)
    t.ok(statuses().some(([each, status]) => each === id && status === 'running'))
    if (id === 'timer') t.equal(waits(), null)
    t.match(workflows.find('next'), { status: id === 'next' ? 'running' : 'pending' })
    workflows.record(id, owner, [{ turn: { status: 'completed', result: '1' } }], 6)
    return DONE
  }, 1)
  await until(() => turns === 3)
  t.equal(turns, 3)
})

t.test('runs of an ended process are resumed at once, and runs of an unknown one are not', async t => {
  const { durable, connection, start } = await openWorld(t)
  for (const id of ['dead', 'elsewhere']) durable.workflows.create(run(id), 1)
  const now = Date.now()
  const dead = ownerOf('x').replace(/^\d+/, '4194999')
  durable.workflows.claim('dead', { owner: dead, now, until: now + 1e9 })
  durable.workflows.claim('elsewhere', { owner: '1@elsewhere x start', now, until: now + 1e9 })
  const seen: unknown[] = []
  await start(async work => {
    if ('claim' in work) seen.push([work.claim.run, work.claim.wasInterrupted])
    return DONE
  })
  await until(() => seen.length > 0)
  t.same(seen, [['dead', true]])
  t.equal(connection.row("SELECT status FROM workflow_run_log WHERE run_id = 'elsewhere'")?.[0], 'running')
})

t.test('a turn that ends without recording its end returns its run', async t => {
  const { durable, start } = await openWorld(t)
  durable.workflows.create(run('r'), 1)
  const claims: boolean[] = []
  await start(async work => {
    if (!('claim' in work)) return DONE
    claims.push(work.claim.wasInterrupted)
    if (claims.length === 1) return { status: 500, body: '{"code":"RUN_CRASHED"}' }
    durable.workflows.adopt(work.claim)
    const attempt = { step: 'w-0', attempt: 1, status: 'started', error: null } as const
    durable.workflows.record('r', work.claim.owner, [{ attempt }], 8)
    if (claims.length === 2) return { status: 500, body: '{"code":"RUN_CRASHED"}' }
    durable.workflows.record('r', work.claim.owner, [{ turn: { status: 'completed', result: '1' } }], 9)
    return DONE
  })
  await until(() => durable.workflows.find('r')?.status === 'completed')
  t.same(claims, [false, false, true], 'a turn that changed nothing was not interrupted')
})

t.test('release returns claimed runs that no thread has begun', async t => {
  const { durable, connection, start } = await openWorld(t)
  for (let at = 0; at < 5; at++) durable.workflows.create(run(`r${at}`), at)
  let begun = 0
  const scheduler = await start(() => {
    begun += 1
    return new Promise(() => {})
  }, 1)
  await until(() => begun === 1)
  await scheduler.close()
  const leased = () => connection.row('SELECT count(*) FROM coord_items WHERE state = 1')?.[0]
  t.equal(leased(), 5)
  await scheduler.release()
  t.equal(leased(), 0)
})

t.test('runs and messages that were stored without items get them once', async t => {
  const { store, durable, connection, start } = await openWorld(t)
  for (const id of ['pending', 'waiting', 'ended']) durable.workflows.create(run(id), 1)
  durable.actors.post({ actor: 'A', id: '1', args: '[]' }, 'e', '[]', 1)
  const soon = Date.now() + 3_600_000
  await store.batch([
    'DELETE FROM coord_items',
    'DELETE FROM coord_keys',
    "UPDATE workflow_run_log SET status = 'completed' WHERE run_id = 'ended'",
    "UPDATE workflow_run_log SET status = 'waiting' WHERE run_id = 'waiting'",
    { sql: "UPDATE workflow_run_state SET wake_at_ms = ? WHERE run_id = 'waiting'", parameters: [soon] }
  ])
  const seen: unknown[] = []
  await start(async work => {
    seen.push('claim' in work ? work.claim.run : `${work.mailbox.actor}/${work.mailbox.id}`)
    connection.execute('DELETE FROM actor_mailbox')
    return DONE
  })
  await until(() => seen.length === 2)
  t.same(seen.toSorted(), ['A/1', 'pending'])
  const [state, at] = connection.row("SELECT state, visible_at FROM coord_items WHERE body = 'waiting'") ?? []
  t.equal(state, 2)
  t.ok(Math.abs(Number(at) - soon) < 60_000)
  t.equal(connection.row("SELECT count(*) FROM coord_items WHERE body = 'ended'")?.[0], 0)
})

t.test('a mailbox keeps its item while it has messages', async t => {
  const { durable, connection, start } = await openWorld(t)
  const mailbox = { actor: 'A', id: '1', args: '[]' }
  const items = () => connection.row("SELECT count(*) FROM coord_items WHERE queue LIKE 'actor:%'")?.[0]
  durable.actors.post(mailbox, 'first', '[]', 1)
  durable.actors.post(mailbox, 'second', '[]', 1)
  t.equal(items(), 1)
  const handled: unknown[] = []
  await start(async () => {
    const message = durable.actors.next('A', '1', Date.now())
    handled.push(message?.event)
    if (message !== null) durable.actors.remove(message.id)
    // Arrives while the mailbox is handled.
    if (handled.length === 2) durable.actors.post(mailbox, 'third', '[]', 1)
    return { status: 200, body: JSON.stringify({ kind: 'handled', more: handled.length === 1 }) }
  })
  await until(() => handled.length === 3 && items() === 0)
  t.same(handled, ['first', 'second', 'third'])
  t.equal(items(), 0)
  const outlook = crd.outlookOf(runQueue('p'))
  t.notOk(outlook.read(outlook.statements.map(({ sql, parameters }) => connection.query(sql, parameters))).isReady)
})
