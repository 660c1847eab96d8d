import { inspect } from 'node:util'
import {
  type ClaimedItem,
  type Coordination,
  coordinationBackend,
  coordinationStore,
  databaseStore,
  type NamedLease,
  type PrimaryDatabase,
  readiness
} from '@svc/contracts'
import coordination from '@svc/plugin-coordination'
import { definePlugin } from '@svc/plugin-sdk'
import { fake, testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import plugin from '#plugin'
import { noPostgres, PostgresServer } from '#root'

const database = fake(databaseStore, { location: 'unused' } as unknown as PrimaryDatabase)

/** Runs both plugins. `store` returns the service of the current generation. */
async function start(t: Test, settings: object) {
  const seen: { store?: Coordination } = {}
  const user = definePlugin({
    name: 'user',
    requires: { store: coordinationStore },
    activate(_, { store }) {
      seen.store = store
    }
  })
  const kernel = await testKernel([plugin, coordination, user], {
    settings: { 'coordination-postgres': settings },
    services: [database]
  })
  t.teardown(() => kernel.close())
  return { kernel, store: () => seen.store as Coordination }
}

t.test('without a URL, the embedded store is used', async t => {
  const { store } = await start(t, {})
  t.match(store(), { kind: 'libsql', location: 'unused' })
})

t.test('warns about a password without a URL', async t => {
  const { kernel } = await start(t, { password: 'x' })
  t.match(JSON.stringify(kernel.log), /coordination\.password/)
})

t.test('with an invalid URL, there is no store instead of another one', async t => {
  const error = await start(t, { url: 'postgres://:secretword@db/m' }).catch((reason: unknown) => reason)
  t.match(error, { code: 'CPG_URL_INVALID' })
  t.notMatch(inspect(error, { depth: 20 }), /secretword/)
})

t.test('with a URL, the store in PostgreSQL replaces the embedded one', { skip: noPostgres }, async t => {
  const server = await PostgresServer.start()
  t.teardown(() => server.remove())
  const { kernel, store } = await start(t, { url: server.url() })
  t.match(store(), { kind: 'postgres', location: `postgres://127.0.0.1:${server.port}/postgres` })
  t.equal((await store().put([{ queue: 'q', body: '1' }]))[0]?.fresh, true)
  const first = store()
  await kernel.replace(plugin)
  t.not(store(), first)
  t.equal(await store().count('q'), 1)
  await t.rejects(first.now(), { code: 'CRD_CLOSED' })
})

t.test('an operator begins an epoch after a restore', { skip: noPostgres }, async t => {
  const server = await PostgresServer.start({ fsync: 'off' })
  t.teardown(() => server.remove())
  const { kernel, store } = await start(t, { url: server.url() })
  await store().put([{ queue: 'q', body: '1' }])
  const [item] = await store().claim('q', 'h', { max: 1, leaseMs: 600_000 })
  const lease = await store().grant('s', 'k', 'h', 600_000)
  t.match(await kernel.callById('coordination.new_epoch', { epoch: 5_000 }), { epoch: 5_000, text: /5000/ })
  t.same(await store().ack([item as ClaimedItem]), [false])
  t.equal(await store().renew(lease as NamedLease, 600_000), 'gone')
  const [again] = await store().claim('q', 'other', { max: 1, leaseMs: 600_000 })
  t.equal(again?.id, item?.id)
  t.ok((again?.fence ?? 0) >= 5_000 * 2 ** 40)
  t.match(await kernel.callById('coordination.new_epoch', {}), { epoch: 5_001 })
  await kernel.callById('coordination.new_epoch', { epoch: 8_190 })
  await t.rejects(kernel.callById('coordination.new_epoch', {}), { code: 'CRD_VALUE_INVALID', message: /8190/ })
})

t.test('an epoch needs a server', async t => {
  const { kernel } = await start(t, {})
  await t.rejects(kernel.callById('coordination.new_epoch', {}), { code: 'CPG_NOT_CONFIGURED', hint: /db restore/ })
})

t.test('is not ready while the server does not respond', { skip: noPostgres }, async t => {
  const server = await PostgresServer.start()
  t.teardown(() => server.remove())
  const checks: { check(): unknown }[] = []
  const ready = definePlugin({
    name: 'ready',
    points: [readiness],
    activate(ctx) {
      ctx.follow(readiness, items => void checks.splice(0, checks.length, ...items))
    }
  })
  const kernel = await testKernel([plugin, ready], { settings: { 'coordination-postgres': { url: server.url() } } })
  t.teardown(() => kernel.close())
  t.equal(checks.length, 1)
  t.match(await checks[0]?.check(), { ok: true })
  server.pause()
  t.match(await checks[0]?.check(), { ok: false, detail: /./ })
  server.resume()
})

t.test('the backend is provided also without a server', async t => {
  const seen: unknown[] = []
  const user = definePlugin({
    name: 'user',
    requires: { backend: coordinationBackend },
    activate(_, { backend }) {
      seen.push(backend.store)
    }
  })
  const kernel = await testKernel([plugin, user])
  t.teardown(() => kernel.close())
  t.same(seen, [null])
})
