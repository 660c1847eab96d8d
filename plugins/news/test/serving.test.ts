import { RemoteFailure } from '@svc/contracts'
import { type Test, test } from 'tap'
import { readItem } from '#items'
import { PostStore, Publisher, Sender, Tables } from '#publishing'
import { newsStatus } from '#root'
import { Serving } from '#serving'
import { itemText, openNews, type TestItem } from './kit.ts'
import { Board, boardChannel } from './remote-board.ts'

const MORE = 'syndication:\n  rss: false\n  board: true'
const HOUR_MS = 3_600_000

/** Opens what runs while svc serves, with a clock of the test, over a service that at first limits the rate. */
async function open(t: Test, more: object = {}) {
  const board = new Board()
  const clock = { now: Date.now() }
  const limits: number[] = []
  const interrupts: AbortController[] = []
  const channel = boardChannel(board, {
    canFind: true,
    step(name) {
      const retryAfterMs = name === 'begin' ? limits.shift() : undefined
      if (retryAfterMs !== undefined)
        throw new RemoteFailure('board: 429', { failureClass: 'rate_limit', code: 'http_429', retryAfterMs })
      const interrupt = name === 'posted' ? interrupts.shift() : undefined
      interrupt?.abort()
      interrupt?.signal.throwIfAborted()
    }
  })
  const news = await openNews(t, { channels: [channel] })
  const settings = {
    enabled: true,
    dry_run: false,
    publish_on_scan: false,
    scan_interval_s: 0,
    site_base_url: 'https://vox-lang.org',
    template_profiles: false,
    worthiness_enforce: false,
    worthiness_score_min: 0.85,
    channel_worthiness_floors: '',
    ...more
  } as never
  const warnings: string[] = []
  const log = { info: () => {}, warn: (message: string) => void warnings.push(message) }
  const store = new PostStore({ tables: new Tables(news.store), now: () => clock.now })
  const publisher = new Publisher({
    settings: () => settings,
    publications: news.publications,
    store,
    sender: new Sender({ store, log, mask: text => text, now: () => clock.now }),
    channels: () => [channel],
    log,
    changed: () => {}
  })
  let items: readonly TestItem[] = []
  const read = () =>
    items.map(each => {
      const known = [channel, { name: 'rss', options: { type: 'object' } }]
      const { item } = readItem(itemText(each), `docs/news/${each.id}.md`, known)
      if (item === null) throw new Error('the item has problems')
      return item
    })
  const newsroom = { scan: async () => ({ items: read(), problems: [], files: items.length }) }
  const serving = new Serving({
    settings: () => settings,
    newsroom: newsroom as never,
    publisher,
    store,
    log,
    now: () => clock.now
  })
  const { signal } = new AbortController()
  return {
    board,
    clock,
    interrupts,
    limits,
    news,
    serving,
    signal,
    store,
    warnings,
    async approve(...all: TestItem[]) {
      items = all
      for (const each of all) await news.approved(each)
    },
    /** Shows other texts to scans, without approvals. */
    show(...all: TestItem[]) {
      items = all
    },
    publish: (by = signal) => {
      const [item] = read()
      if (item === undefined) throw new Error('there is no item')
      return publisher.publish(item, { dryRun: false, again: false, signal: by })
    }
  }
}

test('a delay that a service asks for is stored, and the attempt is made when it is due', async t => {
  const here = await open(t)
  await here.approve({ id: 'item', more: MORE })
  here.limits.push(HOUR_MS)
  const first = await here.publish()
  const found = first.channels.find(({ channel }) => channel === 'board')
  t.match(found, { outcome: 'Failed', code: 'http_429', retryable: true, retry_at_ms: here.clock.now + HOUR_MS })
  t.match(
    (await here.publish()).channels.find(({ channel }) => channel === 'board'),
    { outcome: 'Failed', code: 'http_429', retry_at_ms: here.clock.now + HOUR_MS },
    'another request does not ask earlier'
  )
  await here.serving.sendDue(here.signal)
  t.equal(here.board.posts.length, 0)
  here.clock.now += HOUR_MS
  await here.serving.sendDue(here.signal)
  t.equal(here.board.posts.length, 1)
  t.match(await here.store.list('item', 10), [{ state: 'sent', externalId: 'post-1' }])
})

test('a request that ends during an attempt leaves a post that is due, and found instead of sent again', async t => {
  const here = await open(t)
  await here.approve({ id: 'item', more: MORE })
  const interrupt = new AbortController()
  here.interrupts.push(interrupt)
  await t.rejects(here.publish(interrupt.signal), { name: 'AbortError' })
  t.match(await here.store.list('item', 10), [{ state: 'sending', mayExist: true, nextRetryAtMs: here.clock.now }])
  t.match(await here.news.kernel.call(newsStatus, { id: 'item' }), { note: /^1 posts may exist, and are looked for/ })
  await here.serving.sendDue(here.signal)
  t.match(await here.store.list('item', 10), [{ state: 'sent', externalId: 'post-1' }])
  t.equal(here.board.posts.length, 1)
})

test('a due post whose approval was revoked waits, and is sent after it is approved again', async t => {
  const here = await open(t)
  await here.approve({ id: 'item', more: MORE })
  here.limits.push(HOUR_MS)
  await here.publish()
  await here.news.store.execute('DELETE FROM publication_approvals')
  here.clock.now += HOUR_MS
  await here.serving.sendDue(here.signal)
  t.same(await here.store.due(10), [], 'it is not tried all the time')
  t.match(await here.store.list('item', 10), [{ state: 'ready', nextRetryAtMs: here.clock.now + 300_000 }])
  await here.approve({ id: 'item', more: MORE })
  here.clock.now += 300_000
  await here.serving.sendDue(here.signal)
  t.equal(here.board.posts.length, 1)
})

test('a post of a process that ended waits while it may not be sent, and goes to a person after its text changed', async t => {
  const here = await open(t)
  const texts = [
    { id: 'disarmed', more: MORE },
    { id: 'changed', more: MORE }
  ]
  await here.approve(...texts)
  const dead = new PostStore({
    tables: new Tables(here.news.store),
    identity: { host: 'here', pid: 1, start: 'earlier boot' },
    presence: () => 'alive'
  })
  for (const { id } of texts) {
    const { content_sha3_256: digest } = await here.news.publications.get(id)
    const claimed = await dead.claim({ newsId: id, digest, channel: 'board' }, { again: false, restart: true })
    if (claimed.kind !== 'claimed') throw new Error(claimed.kind)
    await dead.begin(claimed.claim)
  }
  // The lease and the time for processes of other machines have ended.
  here.clock.now += HOUR_MS
  await here.news.store.execute("DELETE FROM publication_approvals WHERE publication_id = 'disarmed'")
  here.news.write({ id: 'changed', more: MORE, body: 'Changed.' })
  await here.approve({ id: 'changed', more: MORE, body: 'Changed.' })
  here.show({ id: 'disarmed', more: MORE }, { id: 'changed', more: MORE, body: 'Changed.' })
  await here.serving.sendDue(here.signal)
  t.same(await here.store.due(10), [], 'neither is tried all the time')
  t.match(await here.store.list('disarmed', 10), [{ state: 'sending', nextRetryAtMs: here.clock.now + 300_000 }])
  t.match(await here.store.open(10), [{ newsId: 'changed', state: 'sending' }])
  t.equal(here.board.posts.length, 0)
})

test('planned attempts end after those of the profile, and with a changed text', async t => {
  const here = await open(t)
  await here.approve({ id: 'item', more: MORE })
  here.limits.push(...Array.from({ length: 9 }, () => HOUR_MS))
  await here.publish()
  for (let hour = 0; hour < 5; hour++) {
    here.clock.now += HOUR_MS
    await here.serving.sendDue(here.signal)
  }
  t.equal(here.limits.length, 6, 'three attempts of the profile standard')
  t.match(await here.store.list('item', 10), [{ state: 'ready', attempts: 3, nextRetryAtMs: null }])
  await here.publish()
  await here.approve({ id: 'item', more: MORE, body: 'Changed.' })
  here.clock.now += HOUR_MS
  await here.serving.sendDue(here.signal)
  t.equal(here.board.posts.length, 0, 'the text that was approved is gone')
  t.match(await here.store.due(10), [])
})

test('a scan stores publications, and sends approved items only if it is asked to', async t => {
  const quiet = await open(t)
  await quiet.approve({ id: 'item', more: MORE })
  await quiet.serving.scans(quiet.signal)
  t.equal(quiet.board.posts.length, 0)
  const sending = await open(t, { publish_on_scan: true })
  await sending.approve({ id: 'approved', more: MORE }, { id: 'draft', more: `draft: true\n${MORE}` })
  await sending.serving.scans(sending.signal)
  await sending.serving.scans(sending.signal)
  t.same(
    sending.board.posts.map(({ id }) => id),
    ['post-1']
  )
  t.equal(await sending.news.publications.find('draft'), null)
  t.same(sending.warnings, [])
})

test('scans log a problem once as long as it stays', async t => {
  const here = await open(t, { publish_on_scan: true })
  const broken = { id: 'broken', more: 'syndication:\n  rss: true' }
  await here.approve(broken)
  await here.serving.scans(here.signal)
  await here.serving.scans(here.signal)
  t.same(here.warnings, ['a news item was not sent'], 'no plugin provides rss here')
  here.show()
  await here.serving.scans(here.signal)
  here.show(broken)
  await here.serving.scans(here.signal)
  t.equal(here.warnings.length, 2)
})

test('scans do not repeat a failed post, and a request does', async t => {
  const here = await open(t, { publish_on_scan: true })
  await here.approve({ id: 'item', more: MORE })
  here.board.faults.push('refuse')
  await here.serving.scans(here.signal)
  t.match(await here.store.list('item', 10), [{ state: 'ready', attempts: 1, failure: { code: 'http_400' } }])
  await here.serving.scans(here.signal)
  t.equal(here.board.posts.length, 0, 'the service would accept it now')
  t.same(here.warnings, ['a news item was not sent'])
  t.match(
    (await here.publish()).channels.find(({ channel }) => channel === 'board'),
    { outcome: 'Success' }
  )
})
