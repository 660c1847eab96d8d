import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { inspect } from 'node:util'
import type { ClaimedItem, Coordination, NamedLease } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { type AddressOptions, noPostgres, PostgresCoordination, PostgresServer, parseServerAddress } from '#root'
import { openStore } from './stores.ts'

const LEASE_MS = 600_000

t.test('with a PostgreSQL server', { skip: noPostgres }, async t => {
  const server = await PostgresServer.start({ fsync: 'off' })
  t.teardown(() => server.remove())
  const opened = (t: Test, url: string): PostgresCoordination => {
    const store = openStore(url)
    t.teardown(() => store.close())
    return store
  }

  await t.test('several processes install the schema at the same time', async t => {
    const url = await server.createDatabase()
    const stores = Array.from({ length: 6 }, () => opened(t, url))
    const times = await Promise.all(stores.map(store => store.now()))
    t.equal(times.every(Number.isSafeInteger), true)
    const versions = await server.query('select digest from svc_coord.versions', databaseOf(url))
    t.equal(versions.length, 1)
  })

  await t.test('connections that open at the same time install the schema once', async t => {
    const url = await server.createDatabase()
    let installations = 0
    const info = (text: string): void => {
      if (text.startsWith('installed the schema')) installations += 1
    }
    const log = { debug() {}, info, warn() {}, error() {} } as unknown as Logger
    const stores = [openStore(url, { log }), openStore(url, { log })]
    t.teardown(() => Promise.all(stores.map(store => store.close())))
    await Promise.all(stores.flatMap(store => Array.from({ length: 8 }, () => store.now())))
    t.equal(installations, 1)
  })

  await t.test('claims read no table from start to end, also without statistics', async t => {
    const url = await server.createDatabase()
    const store = opened(t, url)
    await fill(store, 3_000)
    const scans = async (): Promise<unknown> => {
      await server.query('select pg_stat_force_next_flush()', databaseOf(url))
      const rows = await server.query(
        "select sum(seq_scan)::integer as scans from pg_stat_user_tables where schemaname = 'svc_coord' and relname in ('items', 'keys')",
        databaseOf(url)
      )
      return rows[0]?.scans
    }
    await store.close()
    const before = await scans()
    const again = opened(t, url)
    for (let round = 0; round < 20; round += 1) {
      const items = await again.claim('q1', 'h', { max: 10, leaseMs: LEASE_MS })
      t.equal(items.length, 10)
      const [first, second, third, ...rest] = items as [ClaimedItem, ClaimedItem, ClaimedItem, ...ClaimedItem[]]
      await again.extend(items, LEASE_MS)
      await again.nack([first], { delayMs: 0 })
      await again.park([second])
      await again.ack([{ ...third, result: '1' }, ...rest])
      await again.wake('q1', ['a', 'b'])
      await again.ready(['q1', 'q2', 'q3'])
      await again.look('q1', { limit: 5 })
      await again.put([{ queue: 'q2', key: 'k', body: '1' }])
    }
    await again.close()
    t.equal(await scans(), before)
  })

  await t.test('calls of one turn of the event loop share a transaction', async t => {
    const url = await server.createDatabase()
    const store = opened(t, url)
    await store.now()
    const commits = async (): Promise<number> => {
      const [row] = await server.query('select pg_current_xact_id()::text as id', databaseOf(url))
      return Number(row?.id)
    }
    const before = await commits()
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, at) => store.put([{ queue: 'q', key: String(at), body: String(at) }]))
    )
    const ids = results.map(([result]) => result?.id as number)
    t.equal(new Set(ids).size, 200)
    const items = await store.read('q', ids)
    t.same(new Map(items.map(({ id, body }) => [id, body])), new Map(ids.map((id, at) => [id, String(at)])))
    t.ok((await commits()) - before < 20, 'far fewer transactions than calls')
  })

  await t.test('the text epoch is part of every fence, and must be a number', async t => {
    const store = opened(t, await server.createDatabase())
    t.equal(await store.meta.swap('epoch', null, '3'), true)
    await t.rejects(store.meta.swap('epoch', '3', 'three'), { code: 'CRD_VALUE_INVALID' })
    t.equal(await store.meta.get('epoch'), '3')
    const [item] = await store.put([{ queue: 'q', body: '1' }])
    const [claimed] = await store.claim('q', 'h', { max: 1, leaseMs: LEASE_MS })
    t.equal(claimed?.id, item?.id)
    t.ok((claimed?.fence ?? 0) >= 4 * 2 ** 40, 'the epoch is part of the fence')
  })

  await t.test('stores every body of JSON, and returns it unchanged', async t => {
    const store = opened(t, await server.createDatabase())
    const body = JSON.stringify({ nul: '\u0000', lone: '\ud800', text: 'é😀\u2028'.repeat(100_000) })
    const [put] = await store.put([{ queue: 'q', body }])
    t.equal((await store.read('q', [put?.id as number]))[0]?.body, body)
  })

  await t.test('a release wins over a renewal at the same time', async t => {
    const store = opened(t, await server.createDatabase())
    for (const isRenewedFirst of [true, false]) {
      const lease = (await store.grant('s', 'k', 'a', LEASE_MS)) as NamedLease
      const calls = [() => store.renew(lease, LEASE_MS), () => store.release(lease)]
      if (!isRenewedFirst) calls.reverse()
      await Promise.all(calls.map(call => call()))
      t.same(await store.leases('s'), [])
      const next = (await store.grant('s', 'k', 'b', LEASE_MS)) as NamedLease
      t.equal(next.holder, 'b')
      t.same(await Promise.all([store.release(next), store.release(next)]), ['ok', 'gone'])
    }
  })

  await t.test('an expired value can be used again only after it was removed or has passed its time', async t => {
    const store = opened(t, await server.createDatabase())
    const expiresAt = (await store.now()) + LEASE_MS
    t.same(await store.useOnce([{ value: 'a', expiresAt }]), [true])
    t.same(await store.useOnce([{ value: 'a', expiresAt: 1 }]), [false])
    t.same(await store.useOnce([{ value: 'b', expiresAt: 1 }]), [true])
  })

  await t.test('cleaning removes what has passed its time, and nothing else', async t => {
    const url = await server.createDatabase()
    const store = opened(t, url)
    const later = (await store.now()) + LEASE_MS
    await store.useOnce([
      { value: 'old', expiresAt: 1 },
      { value: 'new', expiresAt: later }
    ])
    await store.put([{ queue: 'q', key: 'k', body: '1' }])
    const claimed = await store.claim('q', 'h', { max: 1, leaseMs: LEASE_MS })
    await store.ack(claimed.map(item => ({ ...item, result: '"r"' })))
    for (const id of ['gone', 'bad']) await store.nodes.put('s', id, '{}', null)
    await store.nodes.flag('s', 'bad', { quarantined: true })
    const before = await store.nodes.list('s')
    for (const id of ['gone', 'bad']) await store.nodes.remove('s', id)
    await store.grant('s', 'short', 'h', 1)
    await store.takeTokens('b', { perSecond: 1, burst: 1, wanted: 1 })
    const query = (text: string) => server.query(text, databaseOf(url))
    await query('update svc_coord.keys set done_at = done_at - 86400000')
    await query('update svc_coord.nodes set removed_at = removed_at - 86400000')
    await query('update svc_coord.distributed_locks set expires_at = expires_at - 3600000')
    await query('update svc_coord.rate set at = at - 3600000')
    const counts = await Promise.all([1, 2].map(() => query('select svc_coord.clean_v1(1000) as count')))
    t.ok(counts.some(([row]) => Number(row?.count) > 0))

    const count = async (table: string) => Number((await query(`select count(*) from svc_coord.${table}`))[0]?.count)
    t.same(
      [
        await count('jti'),
        await count('keys'),
        await count('nodes'),
        await count('distributed_locks'),
        await count('rate')
      ],
      [1, 1, 1, 0, 0]
    )
    t.same(await store.put([{ queue: 'q', key: 'k', body: '2' }]), [{ id: claimed[0]?.id, fresh: false }])
    t.same(await store.useOnce([{ value: 'new', expiresAt: later }]), [false])
    t.equal((await store.nodes.list('s', before.version)).complete, true, 'the removal of a node was forgotten')
    t.match(await store.nodes.put('s', 'bad', '{}', null), { quarantined: true })
  })

  await t.test('no error and no log shows the password', async t => {
    const lines: unknown[] = []
    const log = Object.fromEntries(
      ['debug', 'info', 'warn', 'error'].map(level => [level, (...line: unknown[]) => lines.push(line)])
    ) as unknown as Logger
    const wrong = 'zq81hiddenword'
    const url = server.url().replace(/:[^:@]+@/, `:${wrong}@`)
    const address = parseServerAddress({ url, folder: '/' })
    const store = new PostgresCoordination({ address, connections: 2, fanout: null, log })
    t.teardown(() => store.close())
    const end = store.hints(['q'], () => {})
    const error = await store.now().catch((reason: unknown) => reason)
    t.match(error, { code: 'CRD_UNAVAILABLE', message: /refused the login/, hint: /password/ })
    while (lines.length === 0) await new Promise(resolve => setTimeout(resolve, 10))
    end()
    const shown = inspect([error, lines, store, store.location], { depth: 20, showHidden: true })
    t.notOk(shown.includes(wrong), 'the password is nowhere')
    t.notOk(store.location.includes('svc:'))
  })

  await t.test('a database that does not exist, or that has another encoding, is named', async t => {
    await t.rejects(opened(t, server.url('missing')).now(), { code: 'CRD_UNAVAILABLE', message: /"missing"/ })
    await server.query("create database latin encoding 'SQL_ASCII' template template0")
    await t.rejects(opened(t, server.url('latin')).now(), { code: 'CRD_FAILED', message: /SQL_ASCII/, hint: /UTF8/ })
  })

  await t.test('a user without the right to create the schema gets an error that says so', async t => {
    const url = await server.createDatabase()
    await server.query("create role guest login password 'guest'")
    const guest = url.replace(/\/\/[^@]+@/, '//guest:guest@')
    await t.rejects(opened(t, guest).now(), { code: 'CRD_UNAVAILABLE', message: /cannot be installed/, hint: /CREATE/ })
  })
})

t.test('encrypts the connection and checks the certificate', { skip: noPostgres }, async t => {
  const folder = t.testdir()
  const certificate = join(folder, 'server.crt')
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=db',
      '-addext',
      'subjectAltName=IP:127.0.0.1',
      '-keyout',
      join(folder, 'server.key'),
      '-out',
      certificate
    ],
    { stdio: 'ignore' }
  )
  const server = await PostgresServer.start({}, { certificate, key: join(folder, 'server.key') })
  t.teardown(() => server.remove())
  const open = (query: string, options: Partial<AddressOptions> = {}) =>
    openStore(server.url(), { address: parseServerAddress({ url: `${server.url()}?${query}`, folder, ...options }) })
  const using = async (store: Coordination & { close(): Promise<void> }): Promise<number> => {
    try {
      return await store.now()
    } finally {
      await store.close()
    }
  }
  t.ok(await using(open('sslmode=require')))
  t.ok(await using(open('sslmode=verify-full&sslrootcert=server.crt')))
  t.ok(await using(open('', { caFile: 'server.crt' })))
  await t.rejects(using(open('sslmode=verify-full')), {
    code: 'CRD_UNAVAILABLE',
    message: /encrypted/,
    hint: /ca_file/
  })
  await server.query("create role plain login password 'plain'")
  t.equal((await server.query('show ssl'))[0]?.ssl, 'on')
})

/** Puts items with keys into several queues. */
async function fill(store: Coordination, count: number): Promise<void> {
  for (let from = 0; from < count; from += 1_000)
    await store.put(
      Array.from({ length: 1_000 }, (_, at) => ({
        queue: `q${(from + at) % 3}`,
        key: `k${from + at}`,
        body: '{}',
        ...(at % 10 === 0 ? { lane: `l${at % 50}` } : {})
      }))
    )
}

function databaseOf(url: string): string {
  return new URL(url).pathname.slice(1)
}
