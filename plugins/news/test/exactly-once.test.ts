import type { DatabaseStore, ProcessIdentity } from '@svc/contracts'
import fc from 'fast-check'
import { type Test, test } from 'tap'
import { readItem } from '#items'
import { PostStore, Publisher, Sender, Tables } from '#publishing'
import { itemText, openNews } from './kit.ts'
import { Board, boardChannel } from './remote-board.ts'

/** Thrown at the step at which a simulated process ends. Everything that it does afterwards fails, too. */
class ProcessEnded extends Error {}

/**
 * A process that ends at its `endsAt`th step: a statement of the database or a step of the channel. `once`: only that
 * step fails, such as of a full disk.
 */
class SimulatedProcess {
  #left: number
  readonly #once: boolean

  constructor(endsAt: number, once: boolean) {
    this.#left = endsAt
    this.#once = once
  }

  step = (): void => {
    const left = this.#left--
    if (this.#once ? left === 0 : left <= 0) throw new ProcessEnded('the process ended')
  }

  /** Returns the database as this process sees it. The process may end before or after each change. */
  database(store: DatabaseStore): DatabaseStore {
    const wrap =
      <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        this.step()
        const result = await call(...args)
        this.step()
        return result
      }
    return {
      ...store,
      query: wrap(store.query.bind(store)),
      execute: wrap(store.execute.bind(store)),
      batch: wrap(store.batch.bind(store)),
      transaction: wrap(store.transaction.bind(store)) as DatabaseStore['transaction'],
      migrate: wrap(store.migrate.bind(store))
    } as DatabaseStore
  }
}

const MORE = 'syndication:\n  rss: false\n  board: true'

const SETTINGS = {
  enabled: true,
  dry_run: false,
  site_base_url: 'https://vox-lang.org',
  template_profiles: false,
  worthiness_enforce: false,
  worthiness_score_min: 0.85,
  channel_worthiness_floors: ''
}

/** Opens approved items, and a function that starts a process which ends at a step. */
async function world(t: Test, canFind: boolean) {
  const board = new Board()
  const news = await openNews(t, { channels: [boardChannel(board, { canFind })] })
  const ended = new Set<number>()
  let processes = 0
  let items = 0
  const presence = ({ pid }: ProcessIdentity) => (ended.has(pid) ? 'dead' : 'alive')
  return {
    board,
    news,
    /** Returns the id of a new item with approvals. */
    async item(): Promise<string> {
      const id = `item-${++items}`
      await news.approved({ id, more: MORE })
      return id
    },
    /** Publishes in a process that ends at a step. Returns its outcome; null if it ended. */
    async publish(id: string, endsAt: number, once = false) {
      const pid = ++processes
      const process = new SimulatedProcess(endsAt, once)
      const channel = boardChannel(board, { canFind, retry: 'aggressive', step: process.step })
      const store = new PostStore({
        tables: new Tables(process.database(news.store)),
        identity: { host: 'here', pid, start: 'boot' },
        presence
      })
      const log = { warn: () => {} }
      const publisher = new Publisher({
        settings: () => SETTINGS as never,
        publications: news.publications,
        store,
        sender: new Sender({ store, log, mask: text => text }),
        channels: () => [channel],
        log,
        changed: () => {}
      })
      const known = [channel, { name: 'rss', options: { type: 'object' } }]
      const { item, problems } = readItem(itemText({ id, more: MORE }), `docs/news/${id}.md`, known)
      if (item === null) throw new Error(problems[0]?.message)
      try {
        const { channels } = await publisher.publish(item, {
          dryRun: false,
          again: false,
          signal: new AbortController().signal
        })
        return channels.find(each => each.channel === 'board') ?? null
      } catch (error) {
        if (!(error instanceof ProcessEnded)) throw error
        return null
      } finally {
        ended.add(pid)
      }
    }
  }
}

/** More steps than a whole series has. */
const MAX_STEPS = 60

test('a process that ends at any step, and then others, send a post once', async t => {
  const here = await world(t, true)
  const { board } = here
  for (let step = 0; ; step++) {
    const id = await here.item()
    const before = board.posts.length
    const first = await here.publish(id, step)
    t.ok(board.posts.length - before <= 1, `step ${step}`)
    const last = await here.publish(id, Number.POSITIVE_INFINITY)
    t.match(last, { outcome: 'Success' }, `step ${step}`)
    t.equal(board.posts.length - before, 1, `step ${step}`)
    if (first !== null && step > 10) break
    if (step > MAX_STEPS) throw new Error('the series does not end')
  }
})

test('series of processes that end at random steps, with faults of the service, send a post once', async t => {
  const here = await world(t, true)
  const { board } = here
  const fault = fc.constantFrom('lose-answer' as const, 'lose-request' as const, 'limit' as const)
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(30), { maxLength: 4 }),
      fc.array(fault, { maxLength: 2 }),
      async (ends, faults) => {
        const id = await here.item()
        const before = board.posts.length
        board.faults.push(...faults)
        for (const endsAt of ends) await here.publish(id, endsAt)
        board.faults.length = 0
        const last = await here.publish(id, Number.POSITIVE_INFINITY)
        return last?.outcome === 'Success' && board.posts.length === before + 1
      }
    ),
    { numRuns: 4 }
  )
})

test('a statement that fails at any step does not cause a second post', async t => {
  const here = await world(t, true)
  const { board } = here
  for (let step = 0; step < 28; step += 3) {
    const id = await here.item()
    const before = board.posts.length
    await here.publish(id, step, true)
    t.match(await here.publish(id, Number.POSITIVE_INFINITY), { outcome: 'Success' }, `step ${step}`)
    t.equal(board.posts.length - before, 1, `step ${step}`)
  }
})

test('processes at the same time, some of which end, send a post once', async t => {
  const here = await world(t, true)
  const { board } = here
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(40), { minLength: 2, maxLength: 4 }), async ends => {
      const id = await here.item()
      const before = board.posts.length
      await Promise.all(ends.map(endsAt => here.publish(id, endsAt)))
      const last = await here.publish(id, Number.POSITIVE_INFINITY)
      return last?.outcome === 'Success' && board.posts.length === before + 1
    }),
    { numRuns: 4 }
  )
})

test('a process that lost its claim cannot change or repeat the post', async t => {
  const news = await openNews(t)
  const clock = { now: 1_000_000 }
  const open = (host: string) =>
    new PostStore({
      tables: new Tables(news.store),
      now: () => clock.now,
      identity: { host, pid: 1, start: null },
      presence: () => 'unknown'
    })
  const [first, second] = [open('one'), open('two')]
  const key = { newsId: 'item', digest: 'a'.repeat(64), channel: 'board' }
  const options = { again: false, restart: true }
  const claimed = await first.claim(key, options)
  if (claimed.kind !== 'claimed') throw new Error(claimed.kind)
  const claim = await first.begin(claimed.claim)
  t.match(await second.claim(key, options), { kind: 'busy' })
  clock.now += 170_000
  t.match(await second.claim(key, options), { kind: 'busy' }, 'the other machine may only be slow')
  clock.now += 20_000
  t.match(await second.claim(key, options), { kind: 'claimed', claim: { mayExist: true, fence: 2 } })
  const changes: (() => Promise<unknown>)[] = [
    () => first.renew(claim),
    () => first.saveCheckpoint(claim, {}),
    () => first.succeed(claim, { externalId: '1' }),
    () => first.begin(claim)
  ]
  for (const change of changes) await t.rejects(change, { code: 'NEWS_PLACE_LOST' })
})

test('a claim of an earlier instance in the same process ends with its lease', async t => {
  const news = await openNews(t)
  const clock = { now: 1_000_000 }
  const open = () =>
    new PostStore({
      tables: new Tables(news.store),
      now: () => clock.now,
      identity: { host: 'one', pid: 1, start: null },
      presence: () => 'alive'
    })
  const [first, second] = [open(), open()]
  const key = { newsId: 'item', digest: 'a'.repeat(64), channel: 'board' }
  const options = { again: false, restart: true }
  t.match(await first.claim(key, options), { kind: 'claimed' })
  clock.now += 170_000
  t.match(await second.claim(key, options), { kind: 'busy' })
  clock.now += 20_000
  t.match(await second.claim(key, options), { kind: 'claimed' })
})

test('without a way to look for a post, an interrupted one is never sent again before a person decides', async t => {
  const here = await world(t, false)
  const { board, news } = here
  let undecided = 0
  for (let step = 1; step < 22; step += 2) {
    const id = await here.item()
    const before = board.posts.length
    await here.publish(id, step)
    const last = await here.publish(id, Number.POSITIVE_INFINITY)
    const sent = board.posts.length - before
    t.ok(sent <= 1, `step ${step}`)
    if (last?.outcome === 'Success') {
      t.equal(sent, 1, `step ${step}`)
      continue
    }
    undecided++
    t.match(last, { outcome: 'Failed', code: 'outcome_unknown', retryable: false }, `step ${step}`)
    t.match(await here.publish(id, Number.POSITIVE_INFINITY), { code: 'outcome_unknown' })
    t.equal(board.posts.length - before, sent, 'the second request sends nothing')
    await news.kernel.callById('news.resolve', {
      id,
      channel: 'board',
      ...(sent === 1 ? { sent: board.posts.at(-1)?.id } : { not_sent: true })
    })
    t.match(await here.publish(id, Number.POSITIVE_INFINITY), { outcome: 'Success' })
    t.equal(board.posts.length - before, 1, `step ${step}, after the decision`)
  }
  t.ok(undecided > 0, 'some steps leave the outcome open')
})
