import { setTimeout as sleep, setImmediate as turnEnds } from 'node:timers/promises'
import type { DatabaseStore } from '@svc/contracts'
import t from 'tap'
import { StateChanges } from '#state'
import type { SmallState } from './small-state.ts'
import { openStore, openTestPersistence, recordsIn } from './test-persistence.ts'

t.test('a commit stores changed records and deletes removed ones', async t => {
  const store = await openStore()
  const { persistence, state, events } = await openTestPersistence(store)
  const { committer } = persistence
  await committer.commit(state.submit(1))
  t.equal(events.length, 1, 'events are published before the caller is notified')
  await committer.commit(state.begin(1, 'a "quoted" \ud800 path\n'))
  t.same(
    (await recordsIn(store)).map(([seat, kind]) => [seat, kind]),
    [
      [1, 'lock'],
      [1, 'meta'],
      [1, 'task']
    ]
  )
  await committer.commit(state.complete(1))
  await committer.commit(state.forget(1))
  t.same(await recordsIn(store), [[1, 'meta', 'commands', '{"":4}']])
  await persistence.close()
})

t.test('concurrent changes share one transaction and keep their order', async t => {
  const store = await openStore()
  let batches = 0
  const counted = new Proxy(store, {
    get(target, name) {
      if (name === 'batch') batches += 1
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    }
  })
  const { persistence, state, events } = await openTestPersistence(counted)
  batches = 0
  const order: number[] = []
  await Promise.all(
    Array.from({ length: 500 }, (_, at) =>
      persistence.committer.commit(state.submit(at + 1)).then(() => order.push(at))
    )
  )
  t.equal(batches, 1)
  t.same(
    order,
    [...order].sort((a, b) => a - b)
  )
  t.same(
    events.map(({ id }) => id),
    Array.from({ length: 500 }, (_, at) => at + 1)
  )
  t.equal((await recordsIn(store)).length, 501)
  await persistence.close()
})

t.test('commitAhead resolves immediately, and its change joins the next transaction', async t => {
  const { store, held } = holding(await openStore())
  const { persistence, state, events } = await openTestPersistence(store)
  const { committer } = persistence
  await committer.commit(state.submit(1))
  await committer.commit(state.submit(2))
  const before = held.batches
  held.back = true
  await committer.commitAhead(beginOnly(state, 1))
  t.equal(held.batches, before, 'no transaction was started')
  t.equal(events.length, 2, 'its event is published only once it is durable')
  const next = committer.commit(state.complete(1))
  await held.reached(before + 1)
  let isResolved = false
  const late = committer.commitAhead(state.begin(1)).then(() => {
    isResolved = true
  })
  await committer.commitAhead(beginOnly(state, 2))
  t.notOk(isResolved, 'commitAhead waits until the earlier change of the same record is durable')
  held.release()
  await Promise.all([next, late])
  t.equal(held.batches, before + 2)
  t.match(await tasksIn(store), [
    ['1', /InProgress/],
    ['2', /InProgress/]
  ])
  t.same(
    events.map(({ id }) => id),
    [1, 2, 3, 4, 5, 6]
  )
  await persistence.close()
})

t.test('a change without a caller is written soon, or before closing', async t => {
  const store = await openStore()
  const { persistence, state, events } = await openTestPersistence(store)
  const { committer } = persistence
  await committer.commit(state.submit(1))
  await committer.commitAhead(beginOnly(state, 1))
  for (const end = performance.now() + 120_000; events.length < 2; await sleep(2))
    if (performance.now() > end) throw new Error('the event was not published within two minutes')
  t.match(await tasksIn(store), [['1', /InProgress/]])
  await committer.commit(state.submit(2))
  await committer.commitAhead(beginOnly(state, 2))
  await persistence.close()
  t.equal(events.length, 4)
  t.match(await tasksIn(store), [['1'], ['2', /InProgress/]])
})

t.test('callers that call again together are split into transactions of similar size', async t => {
  const { store, held } = holding(await openStore())
  const { persistence, state } = await openTestPersistence(store)
  const { committer } = persistence
  const sizes: number[] = []
  let waiting = 0
  held.turns = 5
  held.begun = () => void sizes.push(waiting - sizes.reduce((sum, size) => sum + size, 0))
  const rounds = 6
  const order: number[] = []
  await Promise.all(
    Array.from({ length: 200 }, async (_, at) => {
      for (let round = 0; round < rounds; round += 1) {
        const own = (waiting += 1)
        await committer.commit(state.submit(at + 1))
        order.push(own)
      }
    })
  )
  t.same(
    order,
    [...order].sort((a, b) => a - b),
    'callers are notified in order'
  )
  t.same([sizes[0], sizes[1], sizes[2]], [200, 100, 100])
  await persistence.close()
})

t.test('restores the state unchanged, except that tasks in progress are queued again', async t => {
  const store = await openStore()
  const first = await openTestPersistence(store)
  const { committer } = first.persistence
  await committer.commit(first.state.submit(1))
  await committer.commit(first.state.submit(2))
  await committer.commit(first.state.begin(2, '"strange\u0000key'))
  await first.persistence.close()
  const again = await openTestPersistence(store)
  t.match(again.recovery, { records: 4, seats: [1], unreadable: [] })
  t.same(
    [...again.state.tasks.values()].map(({ id, status, recoveries }) => [id, status, recoveries]),
    [
      [1, 'Queued', 0],
      [2, 'Queued', 1]
    ]
  )
  t.equal(again.state.locks.size, 0)
  t.same(
    (await recordsIn(store)).map(([, kind]) => kind),
    ['meta', 'task', 'task']
  )
  await again.persistence.close()
})

t.test('writes rows and lineage with the change', async t => {
  const store = await openStore()
  const { persistence, state } = await openTestPersistence(store, { settings: { campaign_id: 'spring' } })
  const changes = state.submit(1)
  changes.lineage.push({ kind: 'task_submitted', task_id: 1, agent_id: 3, payload: { goal_preview: 'x'.repeat(300) } })
  changes.rows.push({ table: 'research_metrics', values: { session_id: 'a', metric_type: 'b', metric_value: 1.5 } })
  await persistence.committer.commit(changes)
  const { rows } = await store.query('SELECT kind, task_id, agent_id, payload_json FROM orchestration_lineage_events')
  t.same(rows, [['task_submitted', 1, '3', JSON.stringify({ goal_preview: 'x'.repeat(240), campaign_id: 'spring' })]])
  t.same((await store.query('SELECT session_id, metric_value FROM research_metrics')).rows, [['a', 1.5]])
  await persistence.close()
})

t.test('stores a row that its table rejects as a record, and writes everything else', async t => {
  const store = await openStore()
  const { persistence, state, lines } = await openTestPersistence(store)
  const good = state.submit(1)
  good.rows.push({ table: 'research_metrics', values: { session_id: 'a', metric_type: 'b' } })
  const bad = state.submit(2)
  bad.rows.push({ table: 'research_metrics', values: { session_id: 'c', metric_type: null } })
  const worse = state.submit(3)
  worse.rows.push({ table: 'no such; table', values: { a: 1 } }, { table: 'nowhere', values: { a: 1 } })
  await Promise.all([good, bad, worse].map(changes => persistence.committer.commit(changes)))
  t.same((await store.query('SELECT session_id FROM research_metrics')).rows, [['a']])
  const rejected = (await recordsIn(store)).filter(([, kind]) => kind === 'rejected_row')
  t.same(rejected.map(([, , , value]) => JSON.parse(String(value)).table).sort(), [
    'no such; table',
    'nowhere',
    'research_metrics'
  ])
  t.equal(lines.filter(line => line.includes('does not fit its table')).length, 3)
  t.match(persistence.committer.status(), { pending: 0, failing: null })
  await persistence.close()
  const again = await openTestPersistence(store)
  t.match(again.recovery, { records: 4, unreadable: [] })
  await again.persistence.close()
})

t.test('publishes events immediately if a change has nothing else', async t => {
  const store = await openStore()
  const { persistence, events } = await openTestPersistence(store)
  const changes = new StateChanges()
  changes.event({ type: 'orchestrator_idle', idle_ms: 5 })
  const done = persistence.committer.commit(changes)
  t.match(events, [{ id: 1, kind: { type: 'orchestrator_idle' } }])
  await done
  await persistence.close()
})

t.test('an unreadable record is reported and left unchanged', async t => {
  const store = await openStore()
  const first = await openTestPersistence(store)
  await first.persistence.committer.commit(first.state.submit(1))
  await first.persistence.close()
  await store.execute("INSERT INTO orchestrator_records VALUES ('repo', 1, 'trust', '7', '{}')")
  const again = await openTestPersistence(store)
  t.match(again.recovery, { records: 2, unreadable: [{ kind: 'trust', key: '7' }] })
  t.match(again.lines.join('\n'), /orchestrator record trust\/7 cannot be read/)
  await again.persistence.close()
  t.equal((await recordsIn(store)).length, 3)
})

t.test('rejects changes after close', async t => {
  const store = await openStore()
  const { persistence, state } = await openTestPersistence(store)
  const last = persistence.committer.commit(state.submit(1))
  await persistence.close()
  await last
  await t.rejects(persistence.committer.commit(state.submit(2)), { code: 'ORC_CLOSED' })
  await persistence.close()
})

async function tasksIn(store: DatabaseStore): Promise<readonly unknown[]> {
  return (await recordsIn(store)).filter(([, kind]) => kind === 'task').map(([, , key, value]) => [key, value])
}

interface Held {
  /** Number of started transactions. */
  batches: number
  /** If true, transactions wait for `release`. */
  back: boolean
  /** Minimum event loop turns of a transaction. */
  turns: number
  begun: () => void
  /** Resolves when this number of transactions has started. */
  reached(batches: number): Promise<void>
  release(): void
}

/** Returns a store whose transactions can be delayed. */
function holding(real: DatabaseStore): { readonly store: DatabaseStore; readonly held: Held } {
  let released = (): void => {}
  const held: Held = {
    batches: 0,
    back: false,
    turns: 0,
    begun: () => {},
    async reached(batches) {
      while (held.batches < batches) await sleep(1)
    },
    release() {
      held.back = false
      released()
    }
  }
  const batch: DatabaseStore['batch'] = async statements => {
    held.batches += 1
    held.begun()
    if (held.back)
      await new Promise<void>(resolve => {
        released = resolve
      })
    for (let turn = 0; turn < held.turns; turn += 1) await turnEnds()
    return real.batch(statements)
  }
  const store = new Proxy(real, {
    get(target, name) {
      if (name === 'batch') return batch
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    }
  })
  return { store, held }
}

/** Starts a task, without the record that every command changes. */
function beginOnly(state: SmallState, id: number): StateChanges {
  const changes = state.begin(id)
  changes.records.delete('meta/commands')
  return changes
}
