import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Delta, DeltaLog, defineOperation, definePlugin, deltaOperation, t as s } from '@svc/plugin-sdk'
import { testPlugin } from '@svc/plugin-sdk/testing'
import fc from 'fast-check'
import t from 'tap'

interface Row {
  readonly key: string
  readonly value: number
}

/** Client that keeps the rows of a log from deltas, as the console does. */
class Client {
  readonly rows = new Map<string, number>()
  cursor: string | undefined
  resets = 0

  /** Applies one page. Returns true if more follow. */
  read(log: DeltaLog<Row>, limit: number): boolean {
    const delta = log.read(this.cursor, limit)
    if (delta.reset) {
      this.rows.clear()
      this.resets += 1
    }
    if (delta.upsert.length + delta.remove.length > limit) throw new Error('the page is larger than its limit')
    if (delta.more && delta.upsert.length + delta.remove.length === 0) throw new Error('an empty page promises more')
    for (const { key, value } of delta.upsert) this.rows.set(key, value)
    for (const key of delta.remove) this.rows.delete(key)
    this.cursor = delta.cursor
    return delta.more
  }

  readAll(log: DeltaLog<Row>, limit: number): void {
    for (let pages = 0; this.read(log, limit); pages++) if (pages > 10_000) throw new Error('the pages do not end')
  }
}

const keys = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', '__proto__', '')
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('set' as const), key: keys, value: fc.nat(9) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('remove' as const), key: keys }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('replace' as const), rows: fc.dictionary(keys, fc.nat(9)) })
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('page' as const),
      client: fc.nat(2),
      limit: fc.integer({ min: 1, max: 4 })
    })
  }
)

t.test('clients that apply pages at any time end with the rows of the log', t => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 0, max: 6 }), (steps, maxTombstones) => {
      const log = new DeltaLog<Row>({ maxTombstones })
      const model = new Map<string, number>()
      const clients = [new Client(), new Client(), new Client()]
      for (const each of steps) {
        if (each.kind === 'set') {
          log.set(each.key, { key: each.key, value: each.value })
          model.set(each.key, each.value)
        } else if (each.kind === 'remove') {
          if (log.remove(each.key) !== model.delete(each.key)) return false
        } else if (each.kind === 'replace') {
          const rows = Object.entries(each.rows).map(([key, value]) => ({ key, value }))
          log.replaceAll(rows, ({ key }) => key)
          model.clear()
          for (const { key, value } of rows) model.set(key, value)
        } else (clients[each.client] as Client).read(log, each.limit)
      }
      const rows = JSON.stringify([...model].sort())
      return [...clients, new Client()].every(client => {
        client.readAll(log, 3)
        return JSON.stringify([...client.rows].sort()) === rows && log.size === model.size
      })
    }),
    { numRuns: 500 }
  )
  t.end()
})

t.test('rows that change thousands of times are sent once', t => {
  const log = new DeltaLog<Row>()
  const client = new Client()
  client.readAll(log, 10)
  for (let value = 0; value < 10_000; value++) log.set(`k${value % 7}`, { key: `k${value % 7}`, value })
  const delta = log.read(client.cursor)
  t.equal(delta.upsert.length, 7)
  t.equal(delta.reset, false)
  client.readAll(log, 2)
  t.same([...client.rows.values()].sort(), [9993, 9994, 9995, 9996, 9997, 9998, 9999])
  t.same(log.read(client.cursor), { cursor: client.cursor, reset: false, upsert: [], remove: [], more: false })
  t.end()
})

t.test('rows that are equal when all are replaced are not sent again', t => {
  const log = new DeltaLog<Row>()
  const client = new Client()
  const keyOf = ({ key }: Row): string => key
  log.replaceAll(
    [
      { key: 'a', value: 1 },
      { key: 'b', value: 2 },
      { key: 'c', value: 3 }
    ],
    keyOf
  )
  client.readAll(log, 10)
  log.replaceAll(
    [
      { key: 'a', value: 1 },
      { key: 'b', value: 9 }
    ],
    keyOf
  )
  t.match(log.read(client.cursor), { reset: false, upsert: [{ key: 'b', value: 9 }], remove: ['c'] })
  t.end()
})

t.test('a log keeps no row that was replaced or removed', async t => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const log = new DeltaLog<Row>()
  // In a function, whose variables end with it.
  const set = (value: number): WeakRef<Row> => {
    const row = { key: 'a', value }
    log.set('a', row)
    return new WeakRef(row)
  }
  const replaced = Array.from({ length: 500 }, (_, value) => set(value))
  log.remove('a')
  log.set('b', { key: 'b', value: 1 })
  // A weak reference keeps its target until the end of the turn.
  await new Promise(resolve => setImmediate(resolve))
  collect()
  t.equal(replaced.filter(each => each.deref() !== undefined).length, 0)
  t.same(log.read().upsert, [{ key: 'b', value: 1 }])
})

t.test('a cursor from before a forgotten removal gets all rows', t => {
  const log = new DeltaLog<Row>({ maxTombstones: 2 })
  for (const key of ['a', 'b', 'c', 'd']) log.set(key, { key, value: 1 })
  const early = log.read().cursor
  log.remove('a')
  log.remove('b')
  t.match(log.read(early), { reset: false, remove: ['a', 'b'] })
  const middle = log.read().cursor
  log.remove('c')
  t.match(log.read(early), { reset: true, upsert: [{ key: 'd', value: 1 }], remove: [], more: false })
  t.match(log.read(middle), { reset: false, upsert: [], remove: ['c'] }, 'later cursors stay valid')
  t.end()
})

t.test('the first read of many old rows ends, even if newer removals are forgotten', t => {
  const log = new DeltaLog<Row>({ maxTombstones: 1 })
  for (const key of ['a', 'b', 'c', 'd']) log.set(key, { key, value: 1 })
  for (const key of ['x', 'y', 'z']) {
    log.set(key, { key, value: 1 })
    log.remove(key)
  }
  const client = new Client()
  client.read(log, 3)
  log.remove('a')
  client.readAll(log, 3)
  t.same([...client.rows.keys()], ['b', 'c', 'd'])
  t.equal(client.resets, 1)
  t.end()
})

t.test('cursors of another instance, of the future and nonsense get all rows', t => {
  const log = new DeltaLog<Row>()
  log.set('a', { key: 'a', value: 1 })
  const { cursor } = log.read()
  const id = cursor.split('.')[0] as string
  const other = new DeltaLog<Row>()
  other.set('x', { key: 'x', value: 1 })
  for (const bad of [
    other.read().cursor,
    `${id}.2`,
    `${id}.-1`,
    `${id}.`,
    `${id}.0x1`,
    `${id}.1e9`,
    `${id}.1.0`,
    `${id}.0.1.1`,
    `${id}.${'9'.repeat(20)}`,
    id,
    '',
    '.',
    '💥'
  ])
    t.match(log.read(bad), { reset: true, upsert: [{ key: 'a' }] }, bad)
  t.match(log.read(cursor), { reset: false, upsert: [] })
  t.end()
})

t.test('a limit below one is refused, since its pages would never end', t => {
  for (const limit of [0, -1, Number.NaN]) t.throws(() => new DeltaLog().read(undefined, limit), { name: 'RangeError' })
  t.end()
})

t.test('a delta operation validates its input and returns pages of the log', async t => {
  const feed = deltaOperation({
    id: 'demo.feed',
    summary: 'List rows',
    row: s.object({ key: s.string(), value: s.integer() }),
    watch: { on: ['demo.rows'], minMs: 100 }
  })
  t.match(feed, { effect: 'read', watch: { on: ['demo.rows'], minMs: 100, mode: 'delta' } })
  const log = new DeltaLog<Row>()
  const kernel = await testPlugin(
    definePlugin({
      name: 'demo',
      operations: [feed],
      activate: ctx => ctx.implement(feed, ({ since, limit }) => log.read(since, limit) as Delta<Row>)
    })
  )
  t.teardown(() => kernel.close())
  for (let value = 0; value < 5; value++) log.set(`${value}`, { key: `${value}`, value })
  const first = await kernel.call(feed, { limit: 3 })
  t.match(first, { reset: true, more: true, upsert: [{ value: 0 }, { value: 1 }, { value: 2 }] })
  t.match(await kernel.call(feed, { since: first.cursor }), { reset: false, more: false, upsert: [{}, {}] })
  for (const input of [{ limit: 0 }, { limit: 1_001 }, { since: 'x'.repeat(65) }])
    await t.rejects(kernel.call(feed, input), { code: 'OPR_INPUT_INVALID' })
})

t.test('the topics of an operation are part of its descriptor', t => {
  const watched = defineOperation({
    id: 'demo.list',
    summary: 'x',
    input: s.object({}),
    output: s.object({}),
    effect: 'read',
    watch: { on: ['demo.rows'] }
  })
  t.same(watched.watch, { on: ['demo.rows'] })
  t.end()
})
