import type { Coordination } from '@svc/contracts'
import t from 'tap'
import { noPostgres, PostgresServer } from '#root'
import { openStore } from './stores.ts'

const BATCH = 500
const ITEMS = 4_000
const LEASE_MS = 600_000
/** Index entries that an item may cost from its put to its acknowledgement. */
const ENTRIES = 20

/** Puts items, and claims, extends and acknowledges all of them. Returns their number. */
async function work(store: Coordination): Promise<number> {
  for (let at = 0; at < ITEMS; at += BATCH)
    await store.put(Array.from({ length: BATCH }, (_, index) => ({ queue: 'q', body: `"${at + index}"` })))
  for (let count = 0; ; ) {
    const claims = Array.from({ length: 5 }, (_, at) => store.claim('q', `h${at}`, { max: 10, leaseMs: LEASE_MS }))
    const items = (await Promise.all(claims)).flat()
    if (items.length === 0) return count
    await store.extend(items, LEASE_MS)
    count += (await store.ack(items)).filter(Boolean).length
  }
}

t.test('work stays cheap when the table of items was analyzed while it was empty', { skip: noPostgres }, async t => {
  const server = await PostgresServer.start({ autovacuum: 'off' })
  t.teardown(() => server.remove())
  const first = openStore(server.url())
  await work(first)
  await first.close()
  await server.query('analyze svc_coord.items')
  const [table] = await server.query(
    "select reltuples::integer as rows, relpages as pages from pg_class where oid = 'svc_coord.items'::regclass"
  )
  t.equal(table?.rows, 0)
  t.ok((table?.pages as number) > 10)

  await server.query('select pg_stat_reset()')
  // New connections, which plan with these statistics.
  const second = openStore(server.url())
  t.equal(await work(second), ITEMS)
  // A connection that ends writes its statistics.
  await second.close()
  const [read] = await server.query(
    "select sum(idx_tup_read)::integer as entries from pg_stat_user_indexes where relid = 'svc_coord.items'::regclass"
  )
  t.ok((read?.entries as number) > ITEMS, 'entries are counted')
  t.ok((read?.entries as number) < ENTRIES * ITEMS, `${read?.entries} index entries for ${ITEMS} items`)
})
