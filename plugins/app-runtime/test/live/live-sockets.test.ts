import { once } from 'node:events'
import t, { type Test } from 'tap'
import { openLiveWorld } from './live-world.ts'
import { connect as connectTo, type SocketClient } from './socket-client.ts'

async function openWorldWith(t: Test) {
  const opened = await openLiveWorld()
  t.teardown(() => opened.world.close())
  const connect = (): Promise<SocketClient> => connectTo(opened.world.url('/api/live'))
  return { ...opened, connect }
}

t.test('one connection can subscribe to several topics, and unsubscribe', async t => {
  const { store, connect } = await openWorldWith(t)
  const client = await connect()
  client.send({ subscribe: 'notes' })
  t.same(await client.next(), { subscribed: 'notes', after_id: 0 })
  client.send({ subscribe: 'rest', after_id: 0 })
  t.same(await client.next(), { subscribed: 'rest', after_id: 0 })
  await store.execute("INSERT INTO note (title) VALUES ('a')")
  t.match(await client.next(), { id: 1, topic: 'notes', table: 'Note', op: 'insert', row_id: 1, at: Number })
  await store.execute('INSERT INTO other (a) VALUES (1)')
  t.match(await client.next(), { id: 2, topic: 'rest', table: 'Other' })
  client.send({ unsubscribe: 'notes' })
  t.same(await client.next(), { unsubscribed: 'notes' })
  await store.execute("INSERT INTO note (title) VALUES ('b')")
  await store.execute('INSERT INTO other (a) VALUES (2)')
  t.match(await client.next(), { id: 4, topic: 'rest' })
  client.send({ subscribe: 'notes', after_id: 1 })
  t.same(await client.next(), { subscribed: 'notes', after_id: 1 })
  t.match(await client.next(), { id: 3, topic: 'notes' }, 'missed changes are sent')
  client.socket.close()
})

t.test('errors are reported, and the connection stays open', async t => {
  const { connect } = await openWorldWith(t)
  const client = await connect()
  for (const message of [
    '{',
    '[]',
    'null',
    '{"subscribe":1}',
    '{"subscribe":"notes","after_id":-1}',
    '{"after_id":1}'
  ]) {
    client.send(message)
    t.match(await client.next(), { error: String, code: 'RUN_ARGUMENTS' }, message)
  }
  client.send({ subscribe: 'silent' })
  t.match(await client.next(), { code: 'RUN_LIVE_UNKNOWN', topic: 'silent' })
  client.send({ subscribe: 'notes', after_id: 7 })
  t.match(await client.next(), { code: 'RUN_LIVE_GONE', details: { after_id: 7, newest_id: 0 }, topic: 'notes' })
  client.send({ subscribe: 'notes' })
  t.match(await client.next(), { subscribed: 'notes' })
  client.socket.send(Buffer.alloc(100_000))
  const [code] = await once(client.socket, 'close')
  t.equal(code, 1009, 'a message that is too long closes the connection')
})

t.test('clients of a replaced program reconnect without gaps or duplicates', async t => {
  const { store, connect, world, plugin } = await openWorldWith(t)
  const WRITES = 1_000
  const writing = (async () => {
    for (let n = 0; n < WRITES; n += 1) {
      await store.execute("INSERT INTO note (title) VALUES ('x')")
      if (n % 250 === 125) await world.kernel.replace(plugin())
    }
  })()
  const seen: number[] = []
  const codes: number[] = []
  let last = 0
  while (seen.length < WRITES) {
    const client = await connect()
    const closed = once(client.socket, 'close').then(([code]) => {
      codes.push(code)
      return null
    })
    client.send({ subscribe: 'notes', after_id: last })
    for (;;) {
      const message = await Promise.race([client.next(), closed])
      if (message === null) break
      if (typeof message.row_id !== 'number') continue
      seen.push(message.row_id)
      last = message.id as number
      if (seen.length === WRITES) {
        client.socket.close()
        break
      }
    }
  }
  await writing
  t.same(
    seen,
    Array.from({ length: WRITES }, (_, at) => at + 1)
  )
  t.ok(codes.length > 0 && codes.slice(0, -1).every(code => code === 1012), codes.join(' '))
})
