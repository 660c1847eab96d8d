/**
 * Items per second that are put, claimed and acknowledged in the coordination store, each step durable. On PostgreSQL,
 * compared with plain statements of `pg` and with pg-boss; in a libsql file, with BullMQ on Redis, which syncs its
 * append-only file after each change. All are measured in rotation.
 *
 * One by one: each caller has a store and a connection, so that no calls are joined. Coalesced: the callers share one
 * store, which joins the calls of one turn of the event loop. In bulk, as pg-boss and BullMQ: all tasks of a turn are
 * put in one call, and workers take many of them at a time.
 *
 *   node --import tsx --conditions=svc-source bench/mesh/store.ts [--json] [--rounds N] [--seconds N]
 *     [--callers N] [--connections N]
 *
 * Missing servers are left out, with the reason.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { MIN_ROUNDS } from '../figures.ts'
import { isSmoke } from '../smoke-mode.ts'
import { openBullmq } from '../task-queues/bullmq.ts'
import { installPeers } from '../task-queues/peer-packages.ts'
import { openPgBoss } from '../task-queues/pg-boss.ts'
import { startPostgres, startRedis } from '../task-queues/servers.ts'
import { openFolder, PEERS } from './bench-folder.ts'
import { compiledStores } from './compiled-stores.ts'
import { LeftOut } from './left-out.ts'
import { bareQueue, contractInBulk, contractQueue, pgBossOneByOne, taskQueue, urlOf } from './queues.ts'
import { type Contestant, inRotation, type Rates, ratesText } from './rotation.ts'

export interface StoreResult {
  readonly callers: number
  readonly results: readonly Rates[]
  readonly left_out: readonly string[]
}

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: isSmoke ? '1' : String(MIN_ROUNDS) },
    seconds: { type: 'string', default: isSmoke ? '0.2' : '3' },
    callers: { type: 'string', default: '256' },
    connections: { type: 'string', default: '8' }
  }
})
const callers = Number(values.callers)
const connections = Number(values.connections)
const folder = openFolder('store')
const leftOut = new LeftOut()
const postgres = await leftOut.open('PostgreSQL', () => startPostgres(join(folder.path, 'postgres')))
const peers = await leftOut.openPeer('pg-boss and BullMQ', () => installPeers(PEERS))
const redis = peers === null ? null : await leftOut.open('redis-server', () => startRedis(join(folder.path, 'redis')))
const contestants: Contestant[] = []
try {
  const stores = await compiledStores()
  if (postgres !== null) {
    const open = (count: number) => stores.openPostgresStore(urlOf(postgres), count)
    const about = `coordination-postgres, PostgreSQL ${postgres.version}, fsync on`
    contestants.push(
      await bareQueue(postgres, connections),
      contractQueue({
        name: 'svc on PostgreSQL, one by one',
        about: `${about}, ${connections} callers with one connection each`,
        stores: Array.from({ length: connections }, () => open(1)),
        callers: connections
      }),
      contractQueue({
        name: 'svc on PostgreSQL, coalesced',
        about: `${about}, ${callers} callers, ${connections} connections`,
        stores: [open(connections)],
        callers
      }),
      contractQueue({
        name: 'svc on PostgreSQL, coalesced, with keys',
        about: `${about}, ${callers} callers, ${connections} connections, each item with an idempotency key`,
        stores: [open(connections)],
        callers,
        keyed: true
      }),
      await contractInBulk({
        name: 'svc on PostgreSQL, in bulk',
        about: `${about}, ${connections} connections`,
        opened: open(connections),
        concurrency: callers
      })
    )
    if (peers !== null)
      contestants.push(
        await pgBossOneByOne(peers, postgres, connections),
        await taskQueue(progress => openPgBoss(peers, postgres, progress), callers)
      )
  }
  const embedded = async (name: string, count: number): Promise<Contestant> =>
    contractQueue({
      name: `svc in a file, ${name}`,
      about: `coordination on libsql, synchronous full, ${count === 1 ? '1 caller' : `${count} callers`}`,
      stores: [await stores.openEmbeddedStore(join(folder.path, `${count}.db`))],
      callers: count
    })
  contestants.push(await embedded('one by one', 1), await embedded('coalesced', callers))
  contestants.push(
    await contractInBulk({
      name: 'svc in a file, in bulk',
      about: 'coordination on libsql, synchronous full',
      opened: await stores.openEmbeddedStore(join(folder.path, 'bulk.db')),
      concurrency: callers
    })
  )
  if (peers !== null && redis !== null)
    for (const bulk of [false, true])
      contestants.push(await taskQueue(progress => openBullmq(peers, redis, progress, bulk), callers))
  const results = await inRotation(contestants, {
    rounds: Number(values.rounds),
    milliseconds: Number(values.seconds) * 1_000
  })
  const result: StoreResult = { callers, results, left_out: leftOut.reasons }
  if (values.json) process.stdout.write(`${JSON.stringify({ benchmark: 'mesh/store', ...result })}\n`)
  else process.stdout.write(ratesText(results, contestants[0]?.name ?? '') + leftOut.text())
} finally {
  for (const contestant of contestants) await contestant.close()
  await Promise.all([redis?.stop(), postgres?.stop()])
  folder.remove()
}
process.exit()
