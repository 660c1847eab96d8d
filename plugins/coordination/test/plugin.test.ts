import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Coordination,
  coordinationBackend,
  coordinationStore,
  type DatabaseStore,
  databaseStore,
  type PrimaryDatabase
} from '@svc/contracts'
import database from '@svc/plugin-database'
import { openMemory } from '@svc/plugin-database/testing'
import { defineOperation, definePlugin, t as schema } from '@svc/plugin-sdk'
import { fake, testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import coordination from '#plugin'
import { DatabaseCoordination } from '#root'

/** As with the plugin `coordination-postgres` without a configured server. */
const NO_SERVER = { services: [fake(coordinationBackend, { store: null })] }
const LEASE = { max: 10, leaseMs: 600_000 }

/** Plugin that hands the services of its kernel to the test. */
function user() {
  const found: { store?: Coordination; primary?: PrimaryDatabase } = {}
  const plugin = definePlugin({
    name: 'user',
    requires: { store: coordinationStore, primary: databaseStore },
    operations: [],
    activate(_, { store, primary }) {
      found.store = store
      found.primary = primary
    }
  })
  return { plugin, found: found as { store: Coordination; primary: PrimaryDatabase } }
}

const backup = defineOperation({
  id: 'database.backup',
  summary: 'Write a backup',
  input: schema.object({ file: schema.string() }),
  output: schema.object({ file: schema.string() })
})
const restore = defineOperation({
  id: 'database.restore',
  summary: 'Restore a backup',
  input: schema.object({ file: schema.string() }),
  output: schema.object({ file: schema.string() }),
  effect: 'destructive'
})
const status = defineOperation({
  id: 'database.status',
  summary: 'Show the state of the database',
  input: schema.object({}),
  output: schema.object({ healthy: schema.boolean() })
})

t.test('the store is in the primary database, whose schema stays valid', async t => {
  const { plugin, found } = user()
  const kernel = await testKernel([database, coordination, plugin], NO_SERVER)
  t.notOk(existsSync(join(kernel.root, '.vox/store.db')), 'no database is created before the first use')
  await found.store.put([{ queue: 'q', body: '{}' }])
  t.equal(found.store.location, found.primary.location)
  t.equal(found.store.kind, 'libsql')
  t.match(await kernel.call(status, {}), { healthy: true, missing_tables: [] })
  t.equal((await found.primary.query('select count(*) from coord_items')).rows[0]?.[0], 1)
  await kernel.close()
})

t.test('a restore in the running process ends all claims, also if the backup has no tables of the store', async t => {
  const { plugin, found } = user()
  const kernel = await testKernel([database, coordination, plugin], NO_SERVER)
  await found.primary.query('select 1')
  await kernel.call(backup, { file: 'empty.db' })
  await found.store.put([{ queue: 'q', body: '1' }])
  await kernel.call(backup, { file: 'one.db' })
  const [lost] = await found.store.claim('q', 'h', LEASE)
  await kernel.call(restore, { file: 'one.db' })
  t.same(await found.store.ack([{ id: lost?.id ?? 0, fence: lost?.fence ?? 0 }]), [false])
  const [again] = await found.store.claim('q', 'h', LEASE)
  t.equal(again?.id, lost?.id)
  t.ok((again?.fence ?? 0) > (lost?.fence ?? 0))
  await kernel.call(restore, { file: 'empty.db' })
  t.same(await found.store.claim('q', 'h', LEASE), [])
  const [next] = await found.store.put([{ queue: 'q', body: '2' }])
  const [claimed] = await found.store.claim('q', 'h', LEASE)
  t.equal(claimed?.id, next?.id)
  t.ok((claimed?.fence ?? 0) > (again?.fence ?? 0), 'the epoch went on')
  await kernel.close()
})

t.test('a setting names another file', async t => {
  const { plugin, found } = user()
  const settings = { coordination: { file: 'own/coordination.db' } }
  const kernel = await testKernel([database, coordination, plugin], { settings, ...NO_SERVER })
  await found.store.put([{ queue: 'q', body: '{}' }])
  t.equal(found.store.location, join(kernel.root, 'own/coordination.db'))
  t.ok(existsSync(found.store.location))
  await kernel.close()
})

t.test('a configured server replaces the embedded store', async t => {
  const memory = await openMemory()
  const server = new DatabaseCoordination(memory)
  for (const [store, kind] of [
    [server, 'memory'],
    [null, 'file']
  ] as const) {
    const { plugin, found } = user()
    const backend = definePlugin({
      name: 'backend',
      provides: [coordinationBackend],
      activate: ctx => ctx.provide(coordinationBackend, { store })
    })
    const kernel = await testKernel([database, backend, coordination, plugin])
    t.equal(found.store === server, kind === 'memory')
    await kernel.close()
  }
  t.same(await server.put([{ queue: 'q', body: '1' }]), [{ id: 1, fresh: true }], 'its owner closes it')
  await server.close()
  await memory.close()
})

t.test('a closed store finishes started calls and refuses later ones', async t => {
  const memory = await openMemory()
  const store = new DatabaseCoordination(memory)
  const started = store.put([{ queue: 'q', body: '1' }])
  await Promise.all([store.close(), store.close()])
  t.same(await started, [{ id: 1, fresh: true }])
  await t.rejects(store.put([{ queue: 'q', body: '1' }]), { code: 'CRD_CLOSED' })
  await t.rejects(store.now(), { code: 'CRD_CLOSED' })
  const other = new DatabaseCoordination(memory)
  await memory.close()
  await t.rejects(other.now(), { code: 'CRD_CLOSED' })
})

t.test('calls of one turn share one transaction', async t => {
  const memory = await openMemory()
  let batches = 0
  const counting = new Proxy(memory, {
    get(target, name) {
      const value = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if (name === 'batch' && (args[0] as unknown[]).length > 0) batches += 1
        return value.apply(target, args)
      }
    }
  }) as DatabaseStore
  const store = new DatabaseCoordination(counting)
  await store.put([{ queue: 'first', body: '1' }])
  batches = 0
  const ids = await Promise.all(
    Array.from({ length: 50 }, (_, at) => store.put([{ queue: 'q', body: String(at), key: `k${at % 40}` }]))
  )
  t.equal(new Set(ids.flat().map(({ id }) => id)).size, 40)
  t.ok(batches <= 2, `${batches} transactions for 50 calls`)
  const [claimed, granted, used] = await Promise.all([
    store.claim('q', 'h', LEASE),
    store.grant('s', 'k', 'h', 1_000),
    store.useOnce([{ value: 'v', expiresAt: 2e12 }])
  ])
  t.equal(claimed.length, 10)
  t.match(granted, { holder: 'h' })
  t.same(used, [true])
  t.ok(batches <= 4)
  await store.close()
  await memory.close()
})

t.test('hints reach subscribers of this process for each way in which an item becomes ready', async t => {
  const memory = await openMemory()
  const store = new DatabaseCoordination(memory)
  const seen: string[] = []
  const end = store.hints(['q', 'lane'], queue => {
    seen.push(queue)
  })
  const hinted = async (run: () => Promise<unknown>): Promise<number> => {
    seen.length = 0
    await run()
    await new Promise(setImmediate)
    return seen.length
  }
  const token = async () => {
    const [item] = await store.claim('q', 'h', { max: 1, leaseMs: 600_000 })
    return { id: item?.id ?? 0, fence: item?.fence ?? 0 }
  }
  t.equal(
    await hinted(() =>
      store.put([
        { queue: 'q', body: '1', key: 'k', maxAttempts: 4 },
        { queue: 'q', body: '1', key: 'k' }
      ])
    ),
    1
  )
  t.equal(await hinted(() => store.put([{ queue: 'q', body: '1', key: 'k' }])), 0, 'a known key')
  t.equal(await hinted(() => store.put([{ queue: 'other', body: '1' }])), 0, 'another queue')
  t.equal(await hinted(() => store.put([{ queue: 'q', body: '2', key: 'late', delayMs: 600_000 }])), 0)
  t.equal(await hinted(() => store.wake('q', ['late'])), 1)
  const first = await token()
  t.equal(await hinted(() => store.nack([first], { delayMs: 0 })), 1)
  const second = await token()
  t.equal(await hinted(() => store.park([second])), 0)
  t.equal(await hinted(() => store.wake('q', ['k'])), 1)
  const third = await token()
  t.equal(await hinted(() => store.wake('q', ['k'])), 0, 'a leased item is not ready')
  t.equal(await hinted(() => store.park([third])), 1)
  await store.nack([await token()], { delayMs: 0 })
  await token()
  t.equal(await hinted(() => store.revive('q', [first.id])), 1)
  const lanes = await store.put([1, 2, 3].map(body => ({ queue: 'lane', body: String(body), lane: 'l' })))
  const [held] = await store.claim('lane', 'h', LEASE)
  t.equal(await hinted(() => store.ack([{ id: held?.id ?? 0, fence: held?.fence ?? 0 }])), 1, 'its lane is free')
  await store.claim('lane', 'h', LEASE)
  t.equal(await hinted(() => store.withdraw('lane', lanes[1]?.id ?? 0)), 1)
  end()
  t.equal(await hinted(() => store.put([{ queue: 'q', body: '3' }])), 0)
  await store.close()
  await memory.close()
})

t.test('hints reach other processes through a transport, if there is one', async t => {
  const memory = await openMemory()
  const published: string[] = []
  const subscribers = new Map<(queue: string) => void, readonly string[]>()
  const store = new DatabaseCoordination(memory, {
    publish: queue => published.push(queue),
    subscribe(queues, on) {
      subscribers.set(on, queues)
      return () => subscribers.delete(on)
    }
  })
  const seen: string[] = []
  const end = store.hints(['a', 'b'], queue => seen.push(queue))
  store.hints(['c'], () => {})
  t.same([...subscribers.values()], [['a', 'b'], ['c']])
  for (const on of subscribers.keys()) on('a')
  t.same(seen, ['a'])
  await store.put([{ queue: 'z', body: '1' }])
  t.same(published, ['z'], 'also without a subscriber in this process')
  end()
  end()
  t.same([...subscribers.values()], [['c']])
  await store.close()
  t.equal(subscribers.size, 0)
  await memory.close()
})

t.test('a call inside a transaction of the database is refused instead of waiting for it', async t => {
  const memory = await openMemory()
  const store = new DatabaseCoordination(memory)
  await store.now()
  await memory.transaction(async () => {
    await t.rejects(store.put([{ queue: 'q', body: '1' }]), { code: 'CRD_FAILED', hint: /before or after/ })
    await t.rejects(store.now(), { code: 'CRD_FAILED' })
  })
  t.same(await store.put([{ queue: 'q', body: '1' }]), [{ id: 1, fresh: true }])
  await store.close()
  await memory.close()
})

t.test('tables of a later svc are not used', async t => {
  const memory = await openMemory()
  const store = new DatabaseCoordination(memory)
  await store.now()
  await memory.execute("update coord_seq set value = 99 where name = 'schema'")
  const other = new DatabaseCoordination(memory)
  await t.rejects(other.now(), { code: 'CRD_FAILED', message: /version 99/, hint: /update svc/ })
  await memory.close()
})

t.test('removes what has passed its time, and nothing else', async t => {
  const memory = await openMemory()
  const store = new DatabaseCoordination(memory)
  const now = await store.now()
  await store.put([
    { queue: 'q', body: '1', key: 'k' },
    { queue: 'q', body: '2', key: 'l' }
  ])
  const items = await store.claim('q', 'h', LEASE)
  await store.ack(items.map(({ id, fence }) => ({ id, fence, result: '"r"' })))
  await store.useOnce([
    { value: 'old', expiresAt: now },
    { value: 'new', expiresAt: now + 600_000 }
  ])
  await store.nodes.put('s', 'n', '{}', null)
  await store.nodes.put('s', 'bad', '{}', null)
  await store.nodes.flag('s', 'bad', { quarantined: true })
  const { version } = await store.nodes.list('s')
  await store.nodes.remove('s', 'n')
  await store.nodes.remove('s', 'bad')
  const { version: last } = await store.nodes.list('s')
  await store.grant('s', 'k', 'h', 1)
  await store.takeTokens('b', { perSecond: 1, burst: 1, wanted: 1 })
  const DAY = 86_400_000
  await memory.batch([
    `update coord_keys set done_at = done_at - ${DAY} where id = ${items[0]?.id}`,
    `update coord_nodes set changed_at = changed_at - ${DAY}`,
    `update distributed_locks set expires_at = expires_at - ${DAY}`,
    `update coord_rate set at = at - ${DAY}`
  ])
  // The next store cleans after its first write.
  await store.close()
  const next = new DatabaseCoordination(memory)
  await next.meta.swap('a', null, 'b')
  await next.close()
  const rows = async (sql: string) => (await memory.query(sql)).rows
  t.same(await rows('select id, result from coord_keys order by id'), [
    [items[0]?.id, null],
    [items[1]?.id, '"r"']
  ])
  t.same(await rows('select count(*) from coord_jti'), [[1]])
  t.same(await rows('select node_id from coord_nodes'), [['bad']], 'the quarantine stays')
  t.same(await rows('select count(*) from distributed_locks'), [[0]])
  t.same(await rows('select count(*) from coord_rate'), [[0]])

  const reader = new DatabaseCoordination(memory)
  const list = await reader.nodes.list('s', version)
  t.equal(list.complete, true, 'changes since a version before the removed rows are not known')
  t.ok(list.version >= last, 'the version does not go back')
  t.same(await reader.put([{ queue: 'q', body: '3', key: 'k' }]), [{ id: items[0]?.id, fresh: false }])
  t.same(await reader.useOnce([{ value: 'new', expiresAt: now + 600_000 }]), [false])
  await reader.close()
  await memory.close()
})
