import t from 'tap'
import { type EventClient, listen } from './event-client.ts'
import { openLiveWorld } from './live-world.ts'

async function next({ events }: EventClient): Promise<unknown> {
  const { value, done } = await events.next()
  if (done === true) throw new Error('the stream has ended')
  return [value.event, JSON.parse(value.data)]
}

t.test('a query sends its result, and each changed result', async t => {
  const { world, store, runs } = await openLiveWorld()
  t.teardown(() => world.close())
  const [all, some] = [
    await listen(world.url('/api/live/query/notes?min=0')),
    await listen(world.url('/api/live/query/notes?min=5'))
  ]
  t.same(await next(all), ['result', []])
  t.same(await next(some), ['result', []])
  await store.execute("INSERT INTO note (title, n) VALUES ('a', 1)")
  t.same(await next(all), ['result', ['a']])
  await store.execute("INSERT INTO note (title, n) VALUES ('b', 9)")
  t.same(await next(all), ['result', ['a', 'b']])
  t.same(await next(some), ['result', ['b']], 'a change without effect on the result sends nothing')
  const before = runs()
  await store.execute('INSERT INTO other (a) VALUES (1)')
  await store.execute("UPDATE note SET title = 'c' WHERE n = 9")
  t.same(await next(some), ['result', ['c']])
  t.ok(runs() <= before + 2, 'changes of other tables do not run the query')
  all.close()
  some.close()
})

t.test('clients of the same query share one run', async t => {
  const { world, store, runs } = await openLiveWorld()
  t.teardown(() => world.close())
  const clients = await Promise.all(Array.from({ length: 20 }, () => listen(world.url('/api/live/query/notes?min=0'))))
  for (const client of clients) t.same(await next(client), ['result', []])
  t.equal(runs(), 1)
  await store.execute("INSERT INTO note (title) VALUES ('a')")
  for (const client of clients) t.same(await next(client), ['result', ['a']])
  t.equal(runs(), 2)
  for (const client of clients) client.close()
})

t.test('every burst of changes ends with the last result', async t => {
  const { world, store } = await openLiveWorld()
  t.teardown(() => world.close())
  const client = await listen(world.url('/api/live/query/notes?min=0'))
  for (let n = 0; n < 300; n += 1) await store.execute("INSERT INTO note (title) VALUES ('x')")
  let results = 0
  for (;;) {
    const [, rows] = (await next(client)) as [string, readonly string[]]
    results += 1
    if (rows.length === 300) break
  }
  t.ok(results < 300, `${results} results`)
  client.close()
})

t.test('a failing or unknown query returns its error', async t => {
  const { world } = await openLiveWorld()
  t.teardown(() => world.close())
  const wrong = await listen(world.url('/api/live/query/notes?min=x'))
  t.equal(wrong.status, 400)
  t.match(JSON.parse(await wrong.body()), { error: 'min is not an int', request_id: /\w/ })
  for (const name of ['silent', 'nothing']) {
    const client = await listen(world.url(`/api/live/query/${name}`))
    t.equal(client.status, 404)
    t.match(JSON.parse(await client.body()), {
      error: { code: 'RUN_LIVE_UNKNOWN', message: /the live queries are notes, others/ }
    })
  }
})

t.test('result streams end with their program', async t => {
  const { world, plugin } = await openLiveWorld()
  t.teardown(() => world.close())
  const client = await listen(world.url('/api/live/query/others'))
  await next(client)
  const ended = client.events.next()
  await world.kernel.replace(plugin())
  t.equal((await ended).done, true)
})
