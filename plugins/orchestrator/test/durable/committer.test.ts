import t from 'tap'
import { Changes } from '../../src/state/changes.ts'
import { opened, openStore, recordsIn } from './opened.ts'

t.test('what is committed is in the database, and gone when it is gone', async t => {
  const store = await openStore()
  const { persistence, state, events } = await opened(store)
  const { committer } = persistence
  await committer.commit(state.submit(1))
  t.equal(events.length, 1, 'events are out when the caller is told')
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

t.test('changes made beside each other are one transaction, in their order', async t => {
  const store = await openStore()
  let batches = 0
  const counted = new Proxy(store, {
    get(target, name) {
      if (name === 'batch') batches += 1
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    }
  })
  const { persistence, state, events } = await opened(counted)
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

t.test('a state is taken up again as it was, and what was in progress is queued once more', async t => {
  const store = await openStore()
  const first = await opened(store)
  const { committer } = first.persistence
  await committer.commit(first.state.submit(1))
  await committer.commit(first.state.submit(2))
  await committer.commit(first.state.begin(2, '"strange\u0000key'))
  await first.persistence.close()
  const again = await opened(store)
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

t.test('rows and lineage are added with the change', async t => {
  const store = await openStore()
  const { persistence, state } = await opened(store, {
    lineage: () => ({ enabled: true, campaignId: 'spring' })
  })
  const changes = state.submit(1)
  changes.lineage.push({ kind: 'task_submitted', task_id: 1, agent_id: 3, payload: { goal_preview: 'x'.repeat(300) } })
  changes.rows.push({ table: 'research_metrics', values: { session_id: 'a', metric_type: 'b', metric_value: 1.5 } })
  await persistence.committer.commit(changes)
  const { rows } = await store.query('SELECT kind, task_id, agent_id, payload_json FROM orchestration_lineage_events')
  t.same(rows, [['task_submitted', 1, '3', JSON.stringify({ goal_preview: 'x'.repeat(240), campaign_id: 'spring' })]])
  t.same((await store.query('SELECT session_id, metric_value FROM research_metrics')).rows, [['a', 1.5]])
  await persistence.close()
})

t.test('a row that its table refuses is kept among the records, and holds up nothing', async t => {
  const store = await openStore()
  const { persistence, state, lines } = await opened(store)
  const good = state.submit(1)
  good.rows.push({ table: 'research_metrics', values: { session_id: 'a', metric_type: 'b' } })
  const bad = state.submit(2)
  bad.rows.push({ table: 'research_metrics', values: { session_id: 'c', metric_type: null } })
  const worse = state.submit(3)
  worse.rows.push({ table: 'no such; table', values: { a: 1 } }, { table: 'nowhere', values: { a: 1 } })
  await Promise.all([good, bad, worse].map(changes => persistence.committer.commit(changes)))
  t.same((await store.query('SELECT session_id FROM research_metrics')).rows, [['a']])
  const kept = (await recordsIn(store)).filter(([, kind]) => kind === 'rejected_row')
  t.same(kept.map(([, , , value]) => JSON.parse(String(value)).table).sort(), [
    'no such; table',
    'nowhere',
    'research_metrics'
  ])
  t.equal(lines.filter(line => line.includes('does not fit its table')).length, 3)
  t.match(persistence.committer.status(), { pending: 0, failing: null })
  await persistence.close()
  const again = await opened(store)
  t.match(again.recovery, { records: 4, unreadable: [] })
  await again.persistence.close()
})

t.test('a change without anything to keep has its events out at once', async t => {
  const store = await openStore()
  const { persistence, events } = await opened(store)
  const changes = new Changes()
  changes.event({ type: 'orchestrator_idle', idle_ms: 5 })
  const done = persistence.committer.commit(changes)
  t.match(events, [{ id: 1, kind: { type: 'orchestrator_idle' } }])
  await done
  await persistence.close()
})

t.test('a record that cannot be read is told of and stays', async t => {
  const store = await openStore()
  const first = await opened(store)
  await first.persistence.committer.commit(first.state.submit(1))
  await first.persistence.close()
  await store.execute("INSERT INTO orchestrator_records VALUES ('repo', 1, 'trust', '7', '{}')")
  const again = await opened(store)
  t.match(again.recovery, { records: 2, unreadable: [{ kind: 'trust', key: '7' }] })
  t.match(again.lines.join('\n'), /trust\/7 of the orchestrator cannot be read/)
  await again.persistence.close()
  t.equal((await recordsIn(store)).length, 3)
})

t.test('after the end nothing is taken', async t => {
  const store = await openStore()
  const { persistence, state } = await opened(store)
  const last = persistence.committer.commit(state.submit(1))
  await persistence.close()
  await last
  await t.rejects(persistence.committer.commit(state.submit(2)), { code: 'ORC_CLOSED' })
  await persistence.close()
})
