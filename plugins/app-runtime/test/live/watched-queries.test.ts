import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { listen } from './event-client.ts'
import { openLiveWorld } from './live-world.ts'
import { connect as connectTo, type SocketClient } from './socket-client.ts'

async function openWorldWith(t: Test) {
  const opened = await openLiveWorld()
  t.teardown(() => opened.world.close())
  return { ...opened, connect: (): Promise<SocketClient> => connectTo(opened.world.url('/api/live')) }
}

t.test('one connection can watch several queries, and ends each of them', async t => {
  const { store, connect } = await openWorldWith(t)
  const client = await connect()
  client.send({ watch: 1, query: 'notes', args: { min: 0 } })
  t.same(await client.next(), { watch: 1, value: [] })
  client.send({ watch: 'b', query: 'notes', args: { min: 5 } })
  t.same(await client.next(), { watch: 'b', value: [] })
  client.send({ watch: 2, query: 'others' })
  t.same(await client.next(), { watch: 2, value: [] })
  await store.execute("INSERT INTO note (title, n) VALUES ('a', 1)")
  t.same(await client.next(), { watch: 1, value: ['a'] })
  await store.execute('INSERT INTO other (a) VALUES (7)')
  t.same(await client.next(), { watch: 2, value: [7] })
  client.send({ unwatch: 1 })
  t.same(await client.next(), { unwatched: 1 })
  await store.execute("INSERT INTO note (title, n) VALUES ('b', 9)")
  t.same(await client.next(), { watch: 'b', value: ['b'] })
  client.send({ watch: 'b', query: 'others', args: {} })
  t.same(await client.next(), { watch: 'b', value: [7] }, 'an id can be used again')
  client.close()
})

t.test('clients of one call share each run, over events and websockets', async t => {
  const { world, store, connect, runs } = await openWorldWith(t)
  const clients = await Promise.all(Array.from({ length: 20 }, connect))
  for (const client of clients) client.send({ watch: 1, query: 'notes', args: { min: 0 } })
  for (const client of clients) t.same(await client.next(), { watch: 1, value: [] })
  const events = await listen(world.url('/api/live/query/notes?min=0'))
  await events.events.next()
  t.equal(runs(), 1)
  await store.execute("INSERT INTO note (title) VALUES ('a')")
  for (const client of clients) t.same(await client.next(), { watch: 1, value: ['a'] })
  t.equal(((await events.events.next()).value as { data: string }).data, '["a"]')
  t.equal(runs(), 2)
  events.close()
  for (const client of clients) client.close()
})

t.test('errors of a query are reported with their status, and the connection stays open', async t => {
  const { connect } = await openWorldWith(t)
  const client = await connect()
  client.send({ watch: 1, query: 'silent' })
  t.match(await client.next(), { watch: 1, code: 'RUN_LIVE_UNKNOWN', status: 404 })
  client.send({ watch: 1, query: 'notes', args: { min: 'x' } })
  t.match(await client.next(), { watch: 1, status: 400, ended: true, error: 'min is not an int' })
  for (const message of [{ watch: 1 }, { watch: {}, query: 'notes' }, { watch: 1, query: 'notes', args: [] }]) {
    client.send(message)
    t.match(await client.next(), { code: 'RUN_ARGUMENTS' })
  }
  for (let id = 0; id < 100; id++) client.send({ watch: id, query: 'notes', args: { min: id } })
  for (let id = 0; id < 100; id++) t.same(await client.next(), { watch: id, value: [] })
  client.send({ watch: 100, query: 'notes', args: { min: 0 } })
  t.match(await client.next(), { watch: 100, code: 'RUN_ARGUMENTS', error: /at most 100 queries/ })
  client.close()
})

t.test('a client that reads slowly skips results, and gets the last one', async t => {
  const { connect, store } = await openWorldWith(t)
  const client = await connect()
  client.send({ watch: 1, query: 'notes', args: { min: 0 } })
  await client.next()
  client.socket.pause()
  const large = 'x'.repeat(400_000)
  for (let n = 0; n < 30; n++) {
    await store.execute('INSERT INTO note (title) VALUES (?)', [n === 29 ? 'last' : large])
    await sleep(30)
  }
  client.socket.resume()
  let results = 0
  const last = await client.until(({ value }) => {
    results += 1
    return (value as readonly string[]).includes('last')
  })
  t.equal((last.value as readonly string[]).length, 30)
  t.ok(results < 30, `${results} results`)
  client.close()
})

t.test('a client of a replaced program watches again, and gets a fresh value', async t => {
  const { connect, store, world, plugin } = await openWorldWith(t)
  const client = await connect()
  client.send({ watch: 1, query: 'notes', args: { min: 0 } })
  await client.next()
  const closed = once(client.socket, 'close')
  await world.kernel.replace(plugin())
  t.equal((await closed)[0], 1012)
  await store.execute("INSERT INTO note (title) VALUES ('a')")
  const next = await connect()
  next.send({ watch: 1, query: 'notes', args: { min: 0 } })
  t.same(await next.next(), { watch: 1, value: ['a'] })
  next.close()
})

t.test('after any sequence of commands every watched query ends with the current result', async t => {
  const { connect, store, runs } = await openWorldWith(t)
  const command = fc.oneof(
    fc.record({ kind: fc.constant('watch' as const), id: fc.nat(3), min: fc.nat(2) }),
    fc.record({ kind: fc.constant('unwatch' as const), id: fc.nat(3) }),
    fc.record({ kind: fc.constant('insert' as const), n: fc.nat(2) }),
    fc.record({ kind: fc.constant('wait' as const) })
  )
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 25 }), async commands => {
      await store.execute('DELETE FROM note')
      const client = await connect()
      const watched = new Map<number, number>()
      for (const each of commands) {
        if (each.kind === 'watch') {
          watched.set(each.id, each.min)
          client.send({ watch: each.id, query: 'notes', args: { min: each.min } })
        } else if (each.kind === 'unwatch') {
          watched.delete(each.id)
          client.send({ unwatch: each.id })
        } else if (each.kind === 'insert') {
          await store.execute("INSERT INTO note (title, n) VALUES ('x', ?)", [each.n])
        } else await sleep(2)
      }
      // The last change is in each result; the messages before it may be of earlier states.
      await store.execute("INSERT INTO note (title, n) VALUES ('end', 9)")
      const waiting = new Map(watched)
      while (waiting.size > 0) {
        const { watch, value } = await client.next()
        const rows = (
          await store.query('SELECT title FROM note WHERE n >= ? ORDER BY _id', [waiting.get(watch as number) ?? -1])
        ).rows
        if (waiting.has(watch as number) && JSON.stringify(value) === JSON.stringify(rows.flat()))
          waiting.delete(watch as number)
      }
      client.close()
      await once(client.socket, 'close')
    }),
    { numRuns: 40 }
  )
  await sleep(100)
  const before = runs()
  await store.execute("INSERT INTO note (title) VALUES ('no watcher')")
  await sleep(200)
  t.equal(runs(), before, 'queries without clients do not run')
})
