import type { AckToken, Coordination } from '@svc/contracts'
import t, { type Test } from 'tap'
import { noPostgres, PostgresServer } from '#root'
import { openStore } from './stores.ts'

const BATCH = 500
const ITEMS = 4_000
const LEASE_MS = 600_000
/** Index entries that an item may cost from its put to its acknowledgement. */
const ENTRIES = 20

/** Returns the rest of a token for the item with a number. */
type Acknowledge = (number: number) => Partial<AckToken>

/**
 * Puts items, with keys if `acknowledge` is given, and claims, extends and acknowledges all of them. Returns their number.
 */
async function work(store: Coordination, acknowledge?: Acknowledge): Promise<number> {
  for (let at = 0; at < ITEMS; at += BATCH)
    await store.put(
      Array.from({ length: BATCH }, (_, index) => {
        const item = { queue: 'q', body: `${at + index}` }
        return acknowledge === undefined ? item : { ...item, key: `k${at + index}` }
      })
    )
  for (let count = 0; ; ) {
    const claims = Array.from({ length: 5 }, (_, at) => store.claim('q', `h${at}`, { max: 10, leaseMs: LEASE_MS }))
    const items = (await Promise.all(claims)).flat()
    if (items.length === 0) return count
    await store.extend(items, LEASE_MS)
    const tokens = items.map(item => ({ ...item, ...acknowledge?.(Number(item.body)) }))
    count += (await store.ack(tokens)).filter(Boolean).length
  }
}

/** Wakes the kept keys, whose items are gone. */
async function wakeAll(store: Coordination): Promise<void> {
  for (let at = 0; at < ITEMS; at += BATCH)
    await store.wake(
      'q',
      Array.from({ length: BATCH }, (_, index) => `k${at + index}`)
    )
}

/** Analyzes a table that is empty, but has pages. */
async function analyzeEmpty(t: Test, server: PostgresServer, table: string): Promise<void> {
  await server.query(`analyze ${table}`)
  const [found] = await server.query(
    `select reltuples::integer as rows, relpages as pages from pg_class where oid = '${table}'::regclass`
  )
  t.equal(found?.rows, 0)
  t.ok((found?.pages as number) > 10)
  await server.query('select pg_stat_reset()')
}

/** Checks how many index entries of a table were read for each item. */
async function assertCheap(t: Test, server: PostgresServer, table: string): Promise<void> {
  const [read] = await server.query(
    `select sum(idx_tup_read)::integer as entries from pg_stat_user_indexes where relid = '${table}'::regclass`
  )
  t.ok((read?.entries as number) >= ITEMS, 'entries are counted')
  t.ok((read?.entries as number) < ENTRIES * ITEMS, `${read?.entries} index entries for ${ITEMS} items`)
}

t.test('work stays cheap when the table of items was analyzed while it was empty', { skip: noPostgres }, async t => {
  const server = await PostgresServer.start({ autovacuum: 'off' })
  t.teardown(() => server.remove())
  const first = openStore(server.url())
  await work(first)
  await first.close()
  await analyzeEmpty(t, server, 'svc_coord.items')
  // New connections, which plan with these statistics.
  const second = openStore(server.url())
  t.equal(await work(second), ITEMS)
  // A connection that ends writes its statistics.
  await second.close()
  await assertCheap(t, server, 'svc_coord.items')
})

t.test(
  'keys are found by their index when their table was analyzed while it was empty',
  { skip: noPostgres },
  async t => {
    const server = await PostgresServer.start({ autovacuum: 'off' })
    t.teardown(() => server.remove())
    const freed: Acknowledge = () => ({ freeKey: true })
    const first = openStore(server.url())
    await work(first, freed)
    await first.close()
    await analyzeEmpty(t, server, 'svc_coord.keys')
    const second = openStore(server.url())
    t.equal(await work(second, number => (number % 2 === 0 ? { result: `${number}` } : { freeKey: true })), ITEMS)
    const [known] = await second.put([{ queue: 'q', key: 'k8', body: '0' }])
    t.match(known, { result: '8' })
    await wakeAll(second)
    await second.close()
    await assertCheap(t, server, 'svc_coord.keys')
    const [kept] = await server.query(
      'select count(*)::integer as keys, count(result)::integer as results from svc_coord.keys'
    )
    t.same(kept, { keys: ITEMS / 2, results: ITEMS / 2 })
  }
)
