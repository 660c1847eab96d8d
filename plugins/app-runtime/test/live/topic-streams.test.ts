import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CHANGES_TABLE } from '#schema'
import { freshName, openStore, rowsOf } from '../schema/schema-fixture.ts'
import { type EventClient, listen, type StreamEvent } from './event-client.ts'
import { openLiveWorld } from './live-world.ts'

async function next({ events }: EventClient): Promise<StreamEvent> {
  const { value, done } = await events.next()
  if (done === true) throw new Error('the stream has ended')
  return value
}

t.test('changes of rows are announced with their operation and row', async t => {
  const { world, store } = await openLiveWorld()
  t.teardown(() => world.close())
  const client = await listen(world.url('/api/live/notes'))
  t.equal(client.status, 200)
  t.match(client.type, /^text\/event-stream/)
  t.same(await next(client), { id: '0', event: 'ready', data: '{"topic":"notes","after_id":0}' })
  await store.execute("INSERT INTO note (title) VALUES ('a')")
  await store.execute('INSERT INTO other (a) VALUES (1)')
  await store.execute("UPDATE note SET title = 'b'")
  await store.execute('DELETE FROM note')
  const events = [await next(client), await next(client), await next(client)]
  t.same(
    events.map(({ id, event }) => [id, event]),
    [
      ['1', 'change'],
      ['3', 'change'],
      ['4', 'change']
    ]
  )
  const announced = events.map(({ data }) => JSON.parse(data))
  t.same(
    announced.map(({ at: _, ...rest }) => rest),
    [
      { id: 1, topic: 'notes', table: 'Note', op: 'insert', row_id: 1 },
      { id: 3, topic: 'notes', table: 'Note', op: 'update', row_id: 1 },
      { id: 4, topic: 'notes', table: 'Note', op: 'delete', row_id: 1 }
    ]
  )
  t.ok(Math.abs(announced[0].at - Date.now()) < 60_000)
  client.close()
  const byTable = await listen(world.url('/api/live/Other?after_id=0'))
  t.match(JSON.parse((await next(byTable)).data), { id: 2, topic: 'Other', table: 'Other', op: 'insert' })
  byTable.close()
})

t.test('changes of other processes are announced, and rolled back changes are not', async t => {
  const file = freshName()
  const { world, store } = await openLiveWorld(file)
  t.teardown(() => world.close())
  const client = await listen(world.url('/api/live/notes'))
  await next(client)
  await t.rejects(
    store.transaction(async tx => {
      await tx.execute("INSERT INTO note (title) VALUES ('a')")
      throw new Error('no')
    })
  )
  const other = await openStore(file)
  await other.execute("INSERT INTO note (title) VALUES ('theirs')")
  t.match(JSON.parse((await next(client)).data), { id: 1, row_id: 1 })
  client.close()
})

t.test('a client that reconnects repeatedly sees no gaps or duplicates', async t => {
  const { world, store, live } = await openLiveWorld()
  t.teardown(() => world.close())
  const WRITES = 1_000
  const first = await listen(world.url('/api/live/notes'))
  await next(first)
  first.close()
  const writing = (async () => {
    for (let n = 0; n < WRITES; n += 10) {
      const rows = Array.from({ length: 10 }, (_, at) => `('t', ${n + at})`)
      await store.execute(`INSERT INTO note (title, n) VALUES ${rows.join(', ')}`)
      if (n % 50 === 0) live().nudge()
      if (n % 100 === 0) await sleep(5)
    }
  })()
  const seen: number[] = []
  let last = first.lastId()
  for (let turn = 1; seen.length < WRITES; turn += 1) {
    const client = await listen(world.url('/api/live/notes?after_id=0'), { 'last-event-id': last })
    for (let taken = 0; taken < 37 * turn && seen.length < WRITES; taken += 1) {
      const { data } = await next(client)
      seen.push(JSON.parse(data).row_id)
    }
    last = client.lastId()
    client.close()
  }
  await writing
  t.same(
    seen,
    Array.from({ length: WRITES }, (_, at) => at + 1)
  )
})

t.test('a replaced program ends its streams, and clients continue with the next one', async t => {
  const { world, store, plugin } = await openLiveWorld()
  t.teardown(() => world.close())
  const client = await listen(world.url('/api/live/notes'))
  await next(client)
  await store.execute("INSERT INTO note (title) VALUES ('a')")
  t.equal((await next(client)).id, '1')
  const ended = client.events.next()
  await world.kernel.replace(plugin())
  t.equal((await ended).done, true)
  await store.execute("INSERT INTO note (title) VALUES ('b')")
  const again = await listen(world.url('/api/live/notes'), { 'last-event-id': client.lastId() })
  t.equal((await next(again)).id, '2')
  again.close()
})

t.test('changes that are no longer recorded are an error with the id to restart from', async t => {
  const { world, store } = await openLiveWorld()
  t.teardown(() => world.close())
  await store.execute("INSERT INTO note (title) VALUES ('a'), ('b'), ('c')")
  await store.execute(`DELETE FROM ${CHANGES_TABLE} WHERE id < 3`)
  const gone = await listen(world.url('/api/live/notes?after_id=1'))
  t.equal(gone.status, 410)
  t.match(JSON.parse(await gone.body()), { error: { code: 'RUN_LIVE_GONE', hint: /after_id=3/ } })
  const ahead = await listen(world.url('/api/live/notes?after_id=99'))
  t.equal(ahead.status, 410, 'an id from the future is an error: the database was replaced')
  ahead.close()
  const resumedStream = await listen(world.url('/api/live/notes?after_id=2'))
  t.equal((await next(resumedStream)).id, '3')
  resumedStream.close()
})

t.test('old changes are removed, and the newest are kept', async t => {
  const { store, world } = await openLiveWorld()
  t.teardown(() => world.close())
  await store.execute(
    "INSERT INTO note (title) WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 103500) SELECT 'x' FROM c"
  )
  t.same(await rowsOf(store, `SELECT min(id), max(id) FROM ${CHANGES_TABLE}`), [[3001, 103500]])
})

t.test('an unknown topic is an error', async t => {
  const { world } = await openLiveWorld()
  t.teardown(() => world.close())
  for (const topic of ['silent', 'nothing']) {
    const client = await listen(world.url(`/api/live/${topic}`))
    t.equal(client.status, 404, topic)
    t.match(JSON.parse(await client.body()), {
      error: { code: 'RUN_LIVE_UNKNOWN', message: /the topics are notes, Note, rest, Other/ }
    })
  }
  const wrong = await listen(world.url('/api/live/notes?after_id=-1'))
  t.equal(wrong.status, 400)
  wrong.close()
})

t.test('a slow client misses no changes, and blocks no others', async t => {
  const { world, store } = await openLiveWorld()
  t.teardown(() => world.close())
  const WRITES = 60_000
  const lazy = await listen(world.url('/api/live/notes'))
  const busy = await listen(world.url('/api/live/notes'))
  // The server ends the stream of a client that does not read; the client reconnects with its last id.
  const readAll = async (client: EventClient, last = 0): Promise<number> => {
    let newest = last
    for await (const { id, event } of client.events) {
      if (event !== 'change') continue
      if (Number(id) !== newest + 1) throw new Error(`${id} came after ${newest}`)
      newest = Number(id)
      if (newest === WRITES) break
    }
    client.close()
    if (newest === WRITES) return newest
    return readAll(await listen(world.url(`/api/live/notes?after_id=${newest}`)), newest)
  }
  const reading = readAll(busy)
  for (let turn = 0; turn < WRITES / 1_000; turn += 1) {
    await store.execute(
      "INSERT INTO note (title) WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT 'x' FROM c"
    )
  }
  t.equal(await reading, WRITES)
  t.equal(await readAll(lazy), WRITES)
})

t.test('disconnected clients are removed, even before the first event', async t => {
  const { world, store } = await openLiveWorld()
  t.teardown(() => world.close())
  let looks = 0
  const query = store.query.bind(store)
  store.query = async (...given) => {
    looks += 1
    // Slow enough that a client can disconnect during the query.
    await sleep(20)
    return query(...given)
  }
  const urls = ['/api/live/notes', '/api/live/query/notes?min=0']
  for (const url of urls) {
    const quick = connect(world.port(), '127.0.0.1', () =>
      quick.write(`GET ${url} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
    )
    await sleep(10)
    quick.destroy()
  }
  const clients = await Promise.all(urls.map(url => listen(world.url(url))))
  for (const client of clients) {
    await next(client)
    client.close()
  }
  do {
    looks = 0
    await sleep(200)
  } while (looks > 0)
  t.pass('the database is no longer polled')
})
