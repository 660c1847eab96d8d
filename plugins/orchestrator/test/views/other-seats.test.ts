import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type DatabaseStore,
  type ForeignTaskFilter,
  OPEN_STATUSES,
  type ProcessIdentity,
  type TaskStatusKind
} from '@svc/contracts'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Seats } from '#durable'
import { OtherSeats, seatSource } from '#views'
import { openStore } from '../durable/test-persistence.ts'

const elsewhere = (pid: number): ProcessIdentity => ({ host: 'box', pid, start: `boot pid ${pid}` })
const signal = new AbortController().signal

interface Written {
  readonly id: number
  readonly agent: number
  readonly status: TaskStatusKind
  readonly session?: string
  readonly description?: string
}

function recordOf({ id, agent, status, session, description = `Task ${id}` }: Written): string {
  const s = status === 'Failed' ? { kind: status, reason: 'no luck' } : status
  const record = { id, d: description, s, a: agent, t: [1_000 + id, 0, 0], trace: `t${id}`, p: 'Urgent' }
  return JSON.stringify(session === undefined ? record : { ...record, x: { session_id: session } })
}

interface World {
  readonly store: DatabaseStore
  readonly others: OtherSeats
  /** Rows of each query. */
  readonly sizes: number[]
  write(seat: number, tasks: readonly Written[]): Promise<void>
  put(seat: number, kind: string, key: string, value: string): Promise<void>
}

/** Opens a database with the seats 1 and 2 of another host, and seat 3 of this process. */
async function openWorld(t: Test, now = () => 1_000): Promise<World> {
  const store = await openStore()
  const options = { store, repositoryId: 'repo', leaseMs: 500 }
  for (const pid of [11, 12]) await new Seats({ ...options, now: () => 1_000, identity: elsewhere(pid) }).acquire()
  await new Seats({ ...options, repositoryId: 'another', now, identity: elsewhere(13) }).acquire()
  const seats = new Seats({ ...options, now })
  const own = await seats.acquire()
  t.equal(own.seat, 3)
  const sizes: number[] = []
  const counted: Pick<DatabaseStore, 'query'> = {
    async query(...call) {
      const result = await store.query(...call)
      sizes.push(result.rows.length)
      return result
    }
  }
  const put = async (seat: number, kind: string, key: string, value: string): Promise<void> => {
    await store.execute('INSERT INTO orchestrator_records VALUES (?, ?, ?, ?, ?)', ['repo', seat, kind, key, value])
  }
  return {
    store,
    others: new OtherSeats(counted, 'repo', seats, own),
    sizes,
    put,
    async write(seat, tasks) {
      await store.execute(
        `INSERT INTO orchestrator_records SELECT 'repo', ?, 'task', json_extract(value, '$.id'), value FROM json_each(?)`,
        [seat, `[${tasks.map(recordOf).join(',')}]`]
      )
    }
  }
}

const sourceOf = (others: OtherSeats) =>
  seatSource({
    others: () => others,
    trust: () => ({ trust_ewma_alpha: 0.1, trust_provisional_threshold: 5, trust_trusted_threshold: 20 }),
    verbs: { send: async () => null }
  })

t.test('a process of unknown presence holds its seat until its lease ends', async t => {
  let now = 1_000
  const { others, write } = await openWorld(t, () => now)
  await write(1, [{ id: 1, agent: 1, status: 'Queued' }])
  const source = sourceOf(others)
  t.match(await source.list({}, signal), [
    { id: 1, process: { host: 'box', pid: 11, seat: 1, alive: true, own: false } }
  ])
  now = 1_000 + 500 + 5_001
  t.match(await source.list({}, signal), [{ id: 1, process: { pid: 11, alive: false } }])
  t.match(await source.processes?.(signal), [
    { seat: 1, alive: false, open: { Queued: 1 } },
    { seat: 2, alive: false, open: { Queued: 0 } }
  ])
})

t.test('lists exactly the tasks that match, by id, whatever the filter', async t => {
  const { others, write } = await openWorld(t)
  const statuses: readonly TaskStatusKind[] = [...OPEN_STATUSES, 'Completed', 'Failed', 'Cancelled']
  const tasks = Array.from({ length: 700 }, (_, at): Written => {
    const session = at % 5 === 0 ? `s${at % 10}` : undefined
    const status = statuses[at % statuses.length] as TaskStatusKind
    return { id: at + 1, agent: 1 + (at % 3), status, ...(session === undefined ? null : { session }) }
  })
  await write(
    1,
    tasks.filter(({ id }) => id % 2 === 0)
  )
  await write(
    2,
    tasks.filter(({ id }) => id % 2 === 1)
  )
  const source = sourceOf(others)
  const filters = fc.record(
    {
      task: fc.integer({ min: 1, max: 720 }),
      agent: fc.integer({ min: 1, max: 4 }),
      status: fc.constantFrom(...statuses),
      after: fc.constantFrom(0, 1, 99, 650, 720),
      session: fc.constantFrom('s0', 's5', 's%', "s0' OR 1"),
      limit: fc.constantFrom(1, 7, 250, 251, 600)
    },
    { requiredKeys: [] }
  )
  await fc.assert(
    fc.asyncProperty(filters, async filter => {
      const expected = tasks.filter(
        ({ id, agent, status, session }) =>
          (filter.task === undefined || id === filter.task) &&
          id > (filter.after ?? 0) &&
          (filter.agent === undefined || agent === filter.agent) &&
          (filter.status === undefined || status === filter.status) &&
          (filter.session === undefined || session === filter.session)
      )
      const found = await source.list(filter as ForeignTaskFilter, signal)
      const ids = expected.slice(0, filter.limit).map(({ id }) => id)
      return found.map(({ id }) => id).join() === ids.join()
    }),
    { numRuns: 60 }
  )
})

t.test('10,000 tasks are read in pages, and the event loop runs between them', async t => {
  const { others, write, sizes } = await openWorld(t)
  for (const seat of [1, 2])
    await write(
      seat,
      Array.from({ length: 5_000 }, (_, at) => ({ id: seat * 10_000 + at, agent: 1, status: 'Queued' as const }))
    )
  let turns = 0
  let done = false
  const counting = (async () => {
    while (!done) {
      await nextTurn()
      turns += 1
    }
  })()
  const found = await sourceOf(others).list({}, signal)
  done = true
  await counting
  t.equal(found.length, 10_000)
  t.ok(Math.max(...sizes) <= 250, 'no query returns more than 250 rows')
  t.ok(turns >= 40, 'each page has its own turn')
  sizes.length = 0
  t.equal((await sourceOf(others).list({ limit: 100 }, signal)).length, 100)
  t.ok(Math.max(...sizes) <= 100, 'a limit is applied by the database')
})

t.test('a list shortens long texts, and a single task has them', async t => {
  const { others, put } = await openWorld(t)
  const description = 'Explain it. '.repeat(10_000)
  const record = JSON.parse(recordOf({ id: 1, agent: 1, status: 'Queued', description })) as object
  const more = { x: { session_id: 's', observations: ['seen'], harness_spec_json: '{}' } }
  await put(1, 'task', '1', JSON.stringify({ ...record, ...more }))
  const source = sourceOf(others)
  const [listed] = await source.list({}, signal)
  t.equal(listed?.description.length, 1_000)
  t.equal(listed?.session_id, 's')
  t.equal(listed?.observations, undefined)
  const [whole] = await source.list({ task: 1 }, signal)
  t.equal(whole?.description, description)
  t.same(whole?.observations, ['seen'])
})

t.test('damaged records are left out, and the others are listed', async t => {
  const { others, put, write } = await openWorld(t)
  await write(1, [{ id: 5, agent: 1, status: 'Failed' }])
  for (const [key, value] of [
    ['1', 'not JSON'],
    ['2', '{"id":2}'],
    ['3', '[]'],
    ['4', '{"id":4,"d":"x","s":"Unheard","t":[1,0,0]}']
  ] as const)
    await put(1, 'task', key, value)
  await put(1, 'agent', '1', '{"id":1,"name":"one","dynamic":false,"paused":true,"capabilities":{},"completed":3}')
  await put(1, 'agent', '2', 'not JSON')
  await put(1, 'trust', '1', 'not JSON')
  const source = sourceOf(others)
  for (const filter of [{}, { status: 'Failed' }, { agent: 1 }, { limit: 10 }] as const)
    t.match(await source.list(filter, signal), [{ id: 5, status: { kind: 'Failed', reason: 'no luck' } }])
  t.match(await source.agents?.(signal), [{ id: 1, name: 'one', paused: true, trust: 0.5, process: { pid: 11 } }])
})

t.test('agents have the load of their tasks, and processes are counted again only after a commit', async t => {
  const { others, put, write, store, sizes } = await openWorld(t)
  await put(1, 'agent', '1', '{"id":1,"name":"one","dynamic":false,"paused":false,"capabilities":{},"completed":3}')
  await put(1, 'meta', 'totals', '{"completed":7,"failed":2,"cancelled":1}')
  await write(1, [
    { id: 1, agent: 1, status: 'Queued' },
    { id: 2, agent: 1, status: 'InProgress' },
    { id: 3, agent: 1, status: 'Doubted' }
  ])
  const source = sourceOf(others)
  t.match(await source.agents?.(signal), [
    { id: 1, queued: 1, urgent: 1, doubted: 1, current_task: 2, weighted_load: 6, completed: 3, activity: undefined }
  ])
  const counted = { agents: 1, open: { Queued: 1, InProgress: 1, Doubted: 1 }, ended: { completed: 7, failed: 2 } }
  t.match((await source.processes?.(signal))?.[0], counted)
  await write(1, [{ id: 4, agent: 1, status: 'Queued' }])
  sizes.length = 0
  t.match((await source.processes?.(signal))?.[0], counted)
  t.equal(sizes.length, 0)
  const version = await source.version?.(signal)
  await store.execute(
    "UPDATE orchestrator_seats SET committed = committed + 1 WHERE repository_id = 'repo' AND seat = 1"
  )
  t.not(await source.version?.(signal), version)
  t.match((await source.processes?.(signal))?.[0], { open: { Queued: 2 } })
})
