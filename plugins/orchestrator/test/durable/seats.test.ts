import { ownIdentity } from '@svc/contracts'
import type { SvcError } from '@svc/plugin-sdk'
import t from 'tap'
import { IdBlocks, Seats } from '#durable'
import { openStore, openTestPersistence } from './test-persistence.ts'

const elsewhere = { host: 'elsewhere', pid: 1, start: 'boot pid 1' }

t.test('acquires a free seat, or a new one if none is free', async t => {
  const store = await openStore()
  const options = { store, repositoryId: 'repo', now: Date.now }
  const [a, b, c] = [new Seats(options), new Seats(options), new Seats(options)]
  const acquired = await Promise.all([a.acquire(), b.acquire()])
  t.same(acquired.map(({ seat }) => seat).sort(), [1, 2])
  const [first] = acquired
  await a.release(first.seat, first.fence, '{"task":[[5,9]]}')
  t.match(await c.acquire(), { seat: first.seat, fence: first.fence + 2, ids: { task: [[5, 9]] } })
  t.equal(
    (await new Seats({ ...options, repositoryId: 'other' }).acquire()).seat,
    1,
    'each repository has separate seats'
  )
})

t.test('a seat of another host is abandoned only after its lease and the clock tolerance', async t => {
  const store = await openStore()
  const options = { store, repositoryId: 'repo' }
  await new Seats({ ...options, now: () => 1_000, leaseMs: 500, identity: elsewhere }).acquire()
  const at = (now: number): Seats => new Seats({ ...options, now: () => now })
  t.same(await at(1_500).abandoned(0), [])
  t.same(await at(6_500).abandoned(0), [])
  t.match(await at(6_501).abandoned(0), [{ seat: 1 }])
})

t.test('a process of another boot with the same host name keeps its seat until its lease ends', async t => {
  const store = await openStore()
  const options = { store, repositoryId: 'repo' }
  const [, namespace, ticks] = ownIdentity().start?.split(' ') ?? []
  const identity = { ...ownIdentity(), start: `another-boot ${namespace} ${ticks}` }
  await new Seats({ ...options, now: () => 1_000, leaseMs: 500, identity }).acquire()
  const at = (now: number): Seats => new Seats({ ...options, now: () => now })
  t.same(await at(6_500).abandoned(0), [])
  t.match(await at(6_501).abandoned(0), [{ seat: 1 }])
})

t.test('a process that lost its seat is notified, and stops writing', async t => {
  const store = await openStore()
  const lost: SvcError[] = []
  const long = { now: () => 1_000, identity: elsewhere, onLost: (error: SvcError) => void lost.push(error) }
  const first = await openTestPersistence(store, long)
  await first.persistence.committer.commit(first.state.submit(1))
  const second = await openTestPersistence(store)
  t.match(second.recovery, { seats: [1], records: 2 })
  const late = [
    first.persistence.committer.commit(first.state.submit(2)),
    first.persistence.committer.commit(first.state.submit(3))
  ]
  for (const each of late) await t.rejects(each, { code: 'ORC_NOT_DURABLE', message: /seat 1 .* was taken over/ })
  t.equal(lost.length, 1)
  t.equal(first.events.length, 1, 'events of changes that were not stored are not published')
  await t.rejects(first.persistence.committer.commit(first.state.submit(4)), { code: 'ORC_NOT_DURABLE' })
  t.throws(() => first.persistence.committer.assertRoom(), { code: 'ORC_NOT_DURABLE' })
  t.match(first.persistence.committer.status(), { pending: 0, failing: /taken over/ })
  await first.persistence.close()
  await second.persistence.committer.commit(second.state.begin(1))
  await second.persistence.close()
  const third = await openTestPersistence(store)
  t.same([...third.state.tasks.keys()], [1])
  await third.persistence.close()
})

t.test('stops writing if the database was restored to an earlier state', async t => {
  const store = await openStore()
  const { persistence, state } = await openTestPersistence(store)
  await persistence.committer.commit(state.submit(1))
  await store.execute('UPDATE orchestrator_seats SET committed = 0')
  await t.rejects(persistence.committer.commit(state.submit(2)), { message: /was restored to an earlier state/ })
  await persistence.close()
})

t.test('blocks of ids grow with use, and unused ids can be restored', async t => {
  let next = 1
  const requests: [string, number][] = []
  let now = 0
  const blocks = new IdBlocks(
    async (kind, count) => {
      requests.push([kind, count])
      next += count
      return [next - count, next]
    },
    () => now
  )
  t.throws(() => blocks.task(), { code: 'ORC_NOT_DURABLE' })
  await blocks.ready()
  t.equal(blocks.ready(), null)
  t.same(requests, [
    ['task', 32],
    ['agent', 16]
  ])
  const seen = new Set<number>()
  for (let at = 0; at < 5_000; at += 1) {
    await blocks.ready()
    seen.add(blocks.task())
  }
  t.equal(seen.size, 5_000)
  t.same(
    requests.slice(2).map(([, count]) => count),
    [64, 128, 256, 512, 1_024, 2_048, 4_096]
  )
  now = 10_000
  const left = JSON.parse(blocks.serialise())
  const again = new IdBlocks(async () => [1_000_000, 1_000_001])
  again.add(left)
  again.add({ task: [[5, 5]], agent: [[-1, 3]] })
  t.same(JSON.parse(again.serialise()), left)
  t.equal(again.task(), Math.max(...seen) + 1)
})

t.test('rejects a command if no ids are left and the database is unavailable', async t => {
  let isAvailable = false
  const blocks = new IdBlocks(async (_, count) => {
    if (!isAvailable) throw new Error('no response')
    return [1, 1 + count]
  })
  await t.rejects(async () => void (await blocks.ready()), { code: 'ORC_NOT_DURABLE', message: /no response/ })
  isAvailable = true
  await blocks.ready()
  t.equal(blocks.task(), 1)
})

t.test('ids have no gaps: unused ones are returned, or used by the next process', async t => {
  const store = await openStore()
  const counted = async () => (await store.query(`SELECT next FROM orchestrator_counters WHERE name = 'task'`)).rows
  const [first, second] = [await openTestPersistence(store), await openTestPersistence(store)]
  const ids = [first, second].map(({ persistence }) => persistence.ids.task())
  t.same(ids, [1, 33], 'two concurrent processes have separate blocks')
  await second.persistence.close()
  t.same(await counted(), [[34]])
  await first.persistence.close()
  t.same(await counted(), [[34]], 'the last block returned the counter, so this one stays with its seat')
  const third = await openTestPersistence(store)
  const { ids: again } = third.persistence
  const numbers: number[] = []
  while (numbers.length < 33) {
    await again.ready()
    numbers.push(again.task())
  }
  t.same(
    numbers,
    Array.from({ length: 33 }, (_, at) => (at < 31 ? at + 2 : at + 3))
  )
  await third.persistence.close()
  t.same(await counted(), [[36]])
})

t.test('ids of a process that was killed before its first write are not lost', async t => {
  const store = await openStore()
  const killed = await openTestPersistence(store, { now: () => 1_000, identity: elsewhere })
  t.equal(killed.persistence.ids.task(), 1)
  const next = await openTestPersistence(store)
  t.equal(next.persistence.ids.task(), 1)
  await next.persistence.close()
  await killed.persistence.close()
  const { rows } = await store.query(`SELECT next FROM orchestrator_counters WHERE name = 'task'`)
  t.same(rows, [[2]], 'the late release by the lost owner is ignored')
})

t.test('a block has at least as many ids as commands wait', async t => {
  let next = 1
  const requests: number[] = []
  const blocks = new IdBlocks(async (kind, count) => {
    if (kind === 'task') requests.push(count)
    next += count
    return [next - count, next]
  })
  const seen: number[] = []
  const one = async (): Promise<void> => {
    for (let missing = blocks.ready(); missing !== null; missing = blocks.ready()) await missing
    seen.push(blocks.task())
  }
  await Promise.all(Array.from({ length: 1_000 }, one))
  t.equal(new Set(seen).size, 1_000)
  t.ok(requests.length <= 4, `block sizes: ${requests}`)
})
