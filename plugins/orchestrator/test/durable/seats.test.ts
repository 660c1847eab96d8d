import { ownIdentity } from '@svc/contracts'
import type { SvcError } from '@svc/plugin-sdk'
import t from 'tap'
import { IdBlocks, Seats } from '#durable'
import { opened, openStore } from './opened.ts'

const elsewhere = { host: 'elsewhere', pid: 1, start: 'boot pid 1' }

t.test('a free seat is taken first, and a new one if all are taken', async t => {
  const store = await openStore()
  const options = { store, repositoryId: 'repo', now: Date.now }
  const [a, b, c] = [new Seats(options), new Seats(options), new Seats(options)]
  const acquired = await Promise.all([a.acquire(), b.acquire()])
  t.same(acquired.map(({ seat }) => seat).sort(), [1, 2])
  const [first] = acquired
  await a.release(first.seat, first.fence, '{"task":[[5,9]]}')
  t.match(await c.acquire(), { seat: first.seat, fence: first.fence + 2, ids: { task: [[5, 9]] } })
  t.equal((await new Seats({ ...options, repositoryId: 'other' }).acquire()).seat, 1, 'repositories have their own')
})

t.test('a seat of another host is taken when its lease ran out, and not before', async t => {
  const store = await openStore()
  const options = { store, repositoryId: 'repo' }
  await new Seats({ ...options, now: () => 1_000, leaseMs: 500, identity: elsewhere }).acquire()
  const at = (now: number): Seats => new Seats({ ...options, now: () => now })
  t.same(await at(1_500).abandoned(0), [])
  t.same(await at(6_500).abandoned(0), [])
  t.match(await at(6_501).abandoned(0), [{ seat: 1 }])
})

t.test('a process of another boot under the same host name keeps its seat until its lease ends', async t => {
  const store = await openStore()
  const options = { store, repositoryId: 'repo' }
  const [, namespace, ticks] = ownIdentity().start?.split(' ') ?? []
  const identity = { ...ownIdentity(), start: `another-boot ${namespace} ${ticks}` }
  await new Seats({ ...options, now: () => 1_000, leaseMs: 500, identity }).acquire()
  const at = (now: number): Seats => new Seats({ ...options, now: () => now })
  t.same(await at(6_500).abandoned(0), [])
  t.match(await at(6_501).abandoned(0), [{ seat: 1 }])
})

t.test('a process that lost its seat writes nothing more, and is notified', async t => {
  const store = await openStore()
  const lost: SvcError[] = []
  const long = { now: () => 1_000, identity: elsewhere, onLost: (error: SvcError) => void lost.push(error) }
  const first = await opened(store, long)
  await first.persistence.committer.commit(first.state.submit(1))
  const second = await opened(store)
  t.match(second.recovery, { seats: [1], records: 2 })
  const late = [
    first.persistence.committer.commit(first.state.submit(2)),
    first.persistence.committer.commit(first.state.submit(3))
  ]
  for (const each of late) await t.rejects(each, { code: 'ORC_NOT_DURABLE', message: /seat 1 .* was taken over/ })
  t.equal(lost.length, 1)
  t.equal(first.events.length, 1, 'nothing is reported that was not stored')
  await t.rejects(first.persistence.committer.commit(first.state.submit(4)), { code: 'ORC_NOT_DURABLE' })
  t.throws(() => first.persistence.committer.assertRoom(), { code: 'ORC_NOT_DURABLE' })
  t.match(first.persistence.committer.status(), { pending: 0, failing: /taken over/ })
  await first.persistence.close()
  await second.persistence.committer.commit(second.state.begin(1))
  await second.persistence.close()
  const third = await opened(store)
  t.same([...third.state.tasks.keys()], [1])
  await third.persistence.close()
})

t.test('a database that was restored to an earlier state is not overwritten', async t => {
  const store = await openStore()
  const { persistence, state } = await opened(store)
  await persistence.committer.commit(state.submit(1))
  await store.execute('UPDATE orchestrator_seats SET committed = 0')
  await t.rejects(persistence.committer.commit(state.submit(2)), { message: /was put back to an earlier state/ })
  await persistence.close()
})

t.test('ids come in blocks that grow with use, and unused ids are kept', async t => {
  let next = 1
  const asked: [string, number][] = []
  let now = 0
  const blocks = new IdBlocks(
    async (what, count) => {
      asked.push([what, count])
      next += count
      return [next - count, next]
    },
    () => now
  )
  t.throws(() => blocks.task(), { code: 'ORC_NOT_DURABLE' })
  await blocks.ready()
  t.equal(blocks.ready(), null)
  t.same(asked, [
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
    asked.slice(2).map(([, count]) => count),
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

t.test('without ids and without a database, the next command is refused', async t => {
  let answers = false
  const blocks = new IdBlocks(async (_, count) => {
    if (!answers) throw new Error('no answer')
    return [1, 1 + count]
  })
  await t.rejects(async () => void (await blocks.ready()), { code: 'ORC_NOT_DURABLE', message: /no answer/ })
  answers = true
  await blocks.ready()
  t.equal(blocks.task(), 1)
})

t.test('numbers leave no hole: unused ones go back, or to the next process', async t => {
  const store = await openStore()
  const counted = async () => (await store.query(`SELECT next FROM orchestrator_counters WHERE name = 'task'`)).rows
  const [first, second] = [await opened(store), await opened(store)]
  const ids = [first, second].map(({ persistence }) => persistence.ids.task())
  t.same(ids, [1, 33], 'two at once have separate blocks')
  await second.persistence.close()
  t.same(await counted(), [[34]])
  await first.persistence.close()
  t.same(await counted(), [[34]], 'this one is not the last that was taken')
  const third = await opened(store)
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

t.test('ids of a process that was killed before it wrote anything are not lost', async t => {
  const store = await openStore()
  const killed = await opened(store, { now: () => 1_000, identity: elsewhere })
  t.equal(killed.persistence.ids.task(), 1)
  const next = await opened(store)
  t.equal(next.persistence.ids.task(), 1)
  await next.persistence.close()
  await killed.persistence.close()
  const { rows } = await store.query(`SELECT next FROM orchestrator_counters WHERE name = 'task'`)
  t.same(rows, [[2]], 'and its late return is ignored')
})

t.test('as many ids are taken as commands wait for one', async t => {
  let next = 1
  const asked: number[] = []
  const blocks = new IdBlocks(async (what, count) => {
    if (what === 'task') asked.push(count)
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
  t.ok(asked.length <= 4, `${asked}`)
})
