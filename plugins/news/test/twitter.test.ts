import t from 'tap'
import { ChannelRun, type FailureMatch, openChannels, postWith } from './channel-run.ts'
import type { ServiceAnswer } from './service-server.ts'
import { openTwitter } from './twitter-server.ts'

const CREATE = ['POST', '/2/tweets'] as const
const LONG = `${'Every check that was slow is fast now. '.repeat(20)}The end.`

t.test('twitter sends the summary and the link, with a reserve and the suffix where it is too long', async t => {
  const { service, twitter } = await openTwitter(t)
  const receipt = await new ChannelRun().attempt(twitter, postWith({}))
  t.same(receipt, {
    externalId: '1800000000000000001',
    url: 'https://x.com/i/web/status/1800000000000000001'
  })
  t.same(service.requests(...CREATE)[0]?.json(), {
    text: 'Version 2 checks 1,000 files in 0.3 s.\n\nhttps://example.org/news/release-2.html'
  })
  const [text] = await twitter.preview(postWith({}, { summary: LONG }))
  t.match(text, { limit: 280, unit: 'weighted characters', label: 'text' })
  t.match(text?.text, /^Every check.*\.\.\.\n\nhttps:\/\/example\.org\/news\/release-2\.html$/)
  t.ok((text?.length ?? 0) <= 260 && (text?.length ?? 0) > 200, `${text?.length}`)
})

t.test(
  'twitter follows its settings of the chunk size, the suffix and the margin, and the template profile',
  async t => {
    const { twitter } = await openTwitter(t, {
      twitter_text_chunk_max: 100,
      twitter_truncation_suffix: ' [more]',
      twitter_summary_margin_chars: 10
    })
    const post = postWith({}, { summary: LONG })
    const [text] = await twitter.preview(post)
    t.match(text?.text, / \[more\]\n\n/)
    t.equal(text?.limit, 100)
    t.ok((text?.length ?? 0) <= 90, `${text?.length}`)
    const [roomy] = await twitter.preview({ ...post, adjust: { marginChars: 24, capFactor: 1.14 } })
    t.ok((roomy?.length ?? 0) <= 66, `${roomy?.length}`)
    const long = postWith({ thread: true }, { body: LONG.repeat(12) })
    const texts = await twitter.preview(long)
    t.equal(texts.length, 25)
    t.match(texts.at(-1)?.text, / \[more\]\n\nhttps:\/\/example\.org\/news\/release-2\.html 25\/25$/)
    t.ok(texts.every(({ length }) => length <= 100))
    const tiny = await openTwitter(t, { twitter_text_chunk_max: 20 })
    await t.rejects(tiny.twitter.preview(post), { code: 'text_limit_too_small', failureClass: 'config' })
  }
)

t.test('twitter sends a thread as replies, and continues it after the process ended within it', async t => {
  const { service, tweets, twitter } = await openTwitter(t)
  const post = postWith({ thread: true }, { body: `# Fast\n\n${LONG}\n\n- one **point**` })
  const previews = await twitter.preview(post)
  t.ok(previews.length > 2)
  t.match(previews[0], { label: `part 1 of ${previews.length}`, text: new RegExp(` 1/${previews.length}$`) })
  t.match(previews.at(-2)?.text, /The end.\n\none point 3\/4$/)
  t.match(previews.at(-1)?.text, /^https:\/\/example\.org\/news\/release-2\.html \d\/\d$/)
  const run = new ChannelRun()
  run.endsAfter = 3
  await t.rejects(run.attempt(twitter, post), { message: 'the process ended' })
  t.equal(tweets.length, 2, 'the second part was sent, and its id is not saved')
  run.endsAfter = Number.POSITIVE_INFINITY
  const receipt = await run.attempt(twitter, post)
  t.equal(tweets.length, previews.length)
  t.equal(receipt.externalId, tweets[0]?.id)
  t.same(
    tweets.map(({ replyTo }) => replyTo),
    [undefined, ...tweets.slice(0, -1).map(({ id }) => id)]
  )
  t.same(
    service.requests(...CREATE).map(request => request.json().text),
    previews.map(({ text }) => text)
  )
})

t.test('twitter finds the post of an attempt whose answer was lost, among others with the same words', async t => {
  const { service, tweets, twitter } = await openTwitter(t)
  const post = postWith({ text: 'a < b & c > d, see example.org and https://example.org/1' })
  await new ChannelRun().attempt(
    twitter,
    postWith({ text: 'a < b & c > d, see example.org and https://example.org/2' })
  )
  service.fail(...CREATE, 'cut-after')
  const run = new ChannelRun()
  await t.rejects(run.attempt(twitter, post), { code: 'network', outcomeUnknown: true })
  t.match(await run.attempt(twitter, post), { externalId: tweets[1]?.id ?? 'missing' })
  t.equal(tweets.length, 2)
})

t.test('twitter reads several pages of posts, and leaves the outcome to a person where there are more', async t => {
  const { service, tweets, twitter } = await openTwitter(t)
  const others = (count: number) =>
    Array.from({ length: count }, (_, n) => ({
      id: String(n + 1),
      text: `another post ${n}`,
      created_at: new Date().toISOString()
    }))
  service.fail(...CREATE, 'cut-after')
  const run = new ChannelRun()
  await t.rejects(run.attempt(twitter, postWith({})), { code: 'network' })
  tweets.push(...others(450))
  t.match(await run.attempt(twitter, postWith({})), { externalId: tweets[0]?.id ?? 'missing' })
  tweets.push(...others(100))
  run.checkpoint = { sent_at_ms: Date.now() }
  await t.rejects(run.attempt(twitter, postWith({})), { code: 'outcome_unknown' })
  t.equal(service.requests(...CREATE).length, 1)
})

t.test('twitter sends again only after a lost request had time to appear', async t => {
  const { service, tweets, twitter } = await openTwitter(t)
  service.fail(...CREATE, 'cut-before')
  const run = new ChannelRun()
  await t.rejects(run.attempt(twitter, postWith({})), { code: 'network' })
  await t.rejects(run.attempt(twitter, postWith({})), { code: 'outcome_pending' })
  run.later()
  await run.attempt(twitter, postWith({}))
  t.equal(tweets.length, 1)
})

t.test('twitter leaves the outcome to a person where the token may not read posts', async t => {
  const { service, tweets, twitter } = await openTwitter(t)
  service.fail(...CREATE, 'cut-after')
  service.fail('GET', '/2/users/me', { status: 403, body: { title: 'Client Forbidden' } }, { status: 403 })
  const run = new ChannelRun()
  await t.rejects(run.attempt(twitter, postWith({})), { code: 'network' })
  await t.rejects(run.attempt(twitter, postWith({})), { code: 'outcome_unknown', failureClass: 'fatal' })
  await t.rejects(new ChannelRun().attempt(twitter, postWith({})), { code: 'outcome_unknown' }, 'a duplicate')
  t.equal(tweets.length, 1)
})

t.test('twitter looks again with another token after the token has ended', async t => {
  const { service, tweets, twitter } = await openTwitter(t)
  service.fail(...CREATE, 'cut-after')
  service.fail('GET', '/2/users/me', { status: 401 })
  const run = new ChannelRun()
  await t.rejects(run.attempt(twitter, postWith({})), { code: 'network' })
  await t.rejects(run.attempt(twitter, postWith({})), { code: 'http_401', failureClass: 'auth' })
  t.match(await run.attempt(twitter, postWith({})), { externalId: tweets[0]?.id ?? 'missing' })
  t.equal(tweets.length, 1)
})

t.test('twitter takes a duplicate that X refuses for the post that exists', async t => {
  const { tweets, twitter } = await openTwitter(t)
  await new ChannelRun().attempt(twitter, postWith({}))
  t.match(await new ChannelRun().attempt(twitter, postWith({})), { externalId: tweets[0]?.id ?? 'missing' })
  t.equal(tweets.length, 1)
})

t.test('twitter maps answers of the API to classes', async t => {
  const { service, tweets, twitter } = await openTwitter(t)
  const soon = String(Math.ceil(Date.now() / 1_000) + 900)
  const cases: [ServiceAnswer, FailureMatch][] = [
    [{ status: 401 }, { code: 'http_401', failureClass: 'auth' }],
    [
      { status: 403, body: { title: 'Forbidden', detail: 'oauth1-permissions' } },
      { code: 'http_403', failureClass: 'auth' }
    ],
    [{ status: 400 }, { code: 'http_400', failureClass: 'fatal' }],
    [{ status: 404 }, { code: 'http_404', failureClass: 'fatal' }],
    [{ status: 409 }, { code: 'http_409', failureClass: 'fatal' }],
    [{ status: 422 }, { code: 'http_422', failureClass: 'fatal' }],
    [
      { status: 429, headers: { 'retry-after': '120' } },
      { code: 'http_429', failureClass: 'rate_limit', retryAfterMs: 120_000 }
    ],
    [{ status: 429 }, { code: 'http_429', failureClass: 'rate_limit', retryAfterMs: 60_000 }],
    [
      { status: 429, headers: { 'retry-after': '9'.repeat(400) } },
      { code: 'http_429', retryAfterMs: 86_400_000 }
    ],
    [
      { status: 503, headers: { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() } },
      { code: 'http_503', failureClass: 'transient', outcomeUnknown: true }
    ],
    [
      { status: 201, body: { data: {} } },
      { code: 'answer_invalid', outcomeUnknown: true }
    ]
  ]
  for (const [answer, failure] of cases) {
    service.fail(...CREATE, answer)
    await t.rejects(new ChannelRun().attempt(twitter, postWith({})), failure, JSON.stringify(answer))
  }
  service.fail(...CREATE, { status: 429, headers: { 'x-rate-limit-reset': soon } })
  const limited = await new ChannelRun().attempt(twitter, postWith({})).catch(error => error)
  t.ok(limited.retryAfterMs > 300_000 && limited.retryAfterMs <= 901_000, `${limited.retryAfterMs}`)
  service.fail(...CREATE, 'silent')
  await t.rejects(new ChannelRun().attempt(twitter, postWith({}), { silenceMs: 50 }), { code: 'timeout' })
  t.equal(tweets.length, 0)
})

t.test('twitter needs a token', async t => {
  const { channel } = await openChannels(t, { settings: {} })
  t.match(await channel('x').problem(), { message: /SVC_NEWS_TWITTER_TOKEN is not set/ })
  await t.rejects(new ChannelRun().attempt(channel('x'), postWith({})), { code: 'credential_missing' })
})
