import t from 'tap'
import { ChannelRun, type FailureMatch, openChannels, postWith, requestFixture } from './channel-run.ts'
import { openReddit } from './reddit-server.ts'
import type { ServiceAnswer } from './service-server.ts'

const POST = postWith({ subreddit: 'r/programming' })
const SUBMIT = ['POST', '/api/submit'] as const

t.test('reddit sends a text post with the documented form, and reuses its login', async t => {
  const { service, reddit } = await openReddit(t)
  t.equal(await reddit.problem(), null)
  const receipt = await new ChannelRun().attempt(reddit, POST)
  t.same(receipt, { externalId: 't3_p1', url: 'https://www.reddit.com/r/programming/comments/p1/x/' })
  const link = await new ChannelRun().attempt(reddit, postWith({ subreddit: 'rust', kind: 'link', nsfw: false }))
  t.equal(link.externalId, 't3_p2')
  const forms = service.requests(...SUBMIT).map(each => Object.fromEntries(each.form()))
  t.same(forms, [requestFixture('reddit-self'), requestFixture('reddit-link')])
  t.equal(service.requests('POST', '/api/v1/access_token').length, 1)
})

t.test('reddit looks for the post after an answer was lost, and sends it once', async t => {
  const { service, posts, reddit } = await openReddit(t)
  service.fail(...SUBMIT, 'cut-after')
  const run = new ChannelRun()
  await t.rejects(run.attempt(reddit, POST), { code: 'network', failureClass: 'transient', outcomeUnknown: true })
  t.match(await run.attempt(reddit, POST), { externalId: 't3_p1' })
  t.equal(posts.length, 1)
  t.equal(service.requests(...SUBMIT).length, 1)
})

t.test('reddit waits for its lists before it sends a post again whose request was lost', async t => {
  const { service, posts, reddit } = await openReddit(t)
  service.fail(...SUBMIT, 'cut-before')
  const run = new ChannelRun()
  await t.rejects(run.attempt(reddit, POST), { code: 'network' })
  await t.rejects(run.attempt(reddit, POST), { code: 'outcome_pending', failureClass: 'transient' })
  run.later()
  await run.attempt(reddit, POST)
  t.equal(posts.length, 1)
})

t.test(
  'reddit finds a post whose title has other spaces, and a person decides where a full list has not got it',
  async t => {
    const { service, posts, reddit } = await openReddit(t)
    const post = postWith({ subreddit: 'programming', title: ' Two  spaces ' })
    service.fail(...SUBMIT, 'cut-after')
    const run = new ChannelRun()
    await t.rejects(run.attempt(reddit, post), { code: 'network' })
    const [sent] = posts.splice(0) as { data: Record<string, unknown> }[]
    const created_utc = Date.now() / 1_000
    for (let n = 0; n < 100; n++)
      posts.push({ data: { name: `t3_x${n}`, title: 'x', subreddit: 'other', created_utc } })
    run.later(60_000)
    await t.rejects(run.attempt(reddit, post), { code: 'outcome_unknown', failureClass: 'fatal' })
    posts[0] = { data: { ...sent?.data, title: 'Two spaces' } }
    t.match(await run.attempt(reddit, post), { externalId: 't3_p1' })
    t.equal(service.requests(...SUBMIT).length, 1)
  }
)

t.test('reddit sends again where a full list reaches back beyond the first attempt', async t => {
  const { service, posts, reddit } = await openReddit(t)
  service.fail(...SUBMIT, 'cut-before')
  const run = new ChannelRun()
  await t.rejects(run.attempt(reddit, POST), { code: 'network' })
  run.later(60_000)
  for (let n = 0; n < 100; n++)
    posts.push({ data: { name: `t3_x${n}`, title: 'x', subreddit: 'other', created_utc: 1 } })
  t.match(await run.attempt(reddit, POST), { externalId: 't3_p101' })
})

t.test('reddit gives the outcome to a person where the account may not read its posts', async t => {
  const { service, reddit } = await openReddit(t)
  service.fail(...SUBMIT, 'cut-after')
  service.fail('GET', '/user/ada/submitted', { status: 401 }, { status: 401 }, { status: 403 })
  const run = new ChannelRun()
  await t.rejects(run.attempt(reddit, POST), { code: 'network', outcomeUnknown: true })
  await t.rejects(run.attempt(reddit, POST), { code: 'http_401', failureClass: 'auth' })
  await t.rejects(run.attempt(reddit, POST), { code: 'outcome_unknown', failureClass: 'fatal' })
  t.equal(service.requests(...SUBMIT).length, 1)
})

t.test('reddit maps errors of the API to classes', async t => {
  const { service, posts, reddit } = await openReddit(t)
  const refused = (...error: string[]): ServiceAnswer => ({ body: { json: { errors: [error] } } })
  const cases: [ServiceAnswer, FailureMatch][] = [
    [
      refused('RATELIMIT', 'Looks like you have been doing that a lot. Take a break for 9 minutes.', 'ratelimit'),
      { failureClass: 'rate_limit', code: 'reddit_ratelimit', retryAfterMs: 540_000, retryable: true }
    ],
    [
      { body: { json: { ratelimit: 512.2, errors: [['RATELIMIT', 'wait', 'ratelimit']] } } },
      { code: 'reddit_ratelimit', failureClass: 'rate_limit', retryAfterMs: 513_000 }
    ],
    [
      refused('SUBREDDIT_NOEXIST', "that subreddit doesn't exist", 'sr'),
      { failureClass: 'fatal', code: 'reddit_subreddit_noexist' }
    ],
    [refused('SUBREDDIT_NOTALLOWED', 'no', 'sr'), { code: 'reddit_subreddit_notallowed', failureClass: 'auth' }],
    [refused('ALREADY_SUB', 'that link has already been submitted', 'url'), { code: 'reddit_already_sub' }],
    [{ body: '<html>' }, { failureClass: 'fatal', code: 'answer_invalid', outcomeUnknown: true }],
    [{ body: { json: { errors: [] } } }, { code: 'answer_invalid', failureClass: 'transient', outcomeUnknown: true }],
    [{ status: 403 }, { failureClass: 'auth', code: 'http_403' }],
    [{ status: 404 }, { failureClass: 'fatal', code: 'http_404' }],
    [{ status: 409 }, { failureClass: 'fatal', code: 'http_409' }],
    [{ status: 422 }, { failureClass: 'fatal', code: 'http_422' }],
    [
      { status: 429, headers: { 'retry-after': '120' } },
      { code: 'http_429', failureClass: 'rate_limit', retryAfterMs: 120_000 }
    ],
    [{ status: 503 }, { code: 'http_503', failureClass: 'transient', outcomeUnknown: true }]
  ]
  for (const [answer, failure] of cases) {
    service.fail(...SUBMIT, answer)
    await t.rejects(new ChannelRun().attempt(reddit, POST), failure, JSON.stringify(answer))
  }
  t.equal(posts.length, 0)
})

t.test('reddit renews a token that the server no longer accepts, and reports a refused refresh token', async t => {
  const { service, tokens, posts, reddit } = await openReddit(t)
  await new ChannelRun().attempt(reddit, POST)
  tokens.delete('access-1')
  tokens.add('placeholder')
  await new ChannelRun().attempt(reddit, postWith({ subreddit: 'other' }))
  t.equal(posts.length, 2)
  t.equal(service.requests('POST', '/api/v1/access_token').length, 2)
  tokens.clear()
  service.fail('POST', '/api/v1/access_token', { status: 400, body: { error: 400 } })
  await t.rejects(new ChannelRun().attempt(reddit, POST), { failureClass: 'auth', code: 'oauth_refused' })
})

t.test('reddit logs in once for posts at the same time, and again when a token has ended', async t => {
  const { service, posts, reddit } = await openReddit(t)
  const login = ['POST', '/api/v1/access_token'] as const
  await Promise.all(['one', 'two', 'three'].map(subreddit => new ChannelRun().attempt(reddit, postWith({ subreddit }))))
  t.equal(posts.length, 3)
  t.equal(service.requests(...login).length, 1)
  const short = await openReddit(t)
  short.service.fail(...login, { body: { access_token: 'access-0', expires_in: 0.001 } })
  short.tokens.add('access-0')
  await new ChannelRun().attempt(short.reddit, postWith({ subreddit: 'one' }))
  await new ChannelRun().attempt(short.reddit, postWith({ subreddit: 'two' }))
  t.equal(short.service.requests(...login).length, 2)
})

t.test('reddit repeats a login whose answer was lost, and reports a login that fails', async t => {
  const { service, posts, reddit } = await openReddit(t)
  service.fail('POST', '/api/v1/access_token', 'cut-after', { status: 503 })
  await new ChannelRun().attempt(reddit, POST)
  t.equal(posts.length, 1)
  const other = await openReddit(t)
  other.service.fail('POST', '/api/v1/access_token', { status: 401 })
  await t.rejects(new ChannelRun().attempt(other.reddit, POST), { code: 'http_401', failureClass: 'auth' })
  other.service.fail('POST', '/api/v1/access_token', { body: {} })
  await t.rejects(new ChannelRun().attempt(other.reddit, POST), { code: 'oauth_refused', failureClass: 'auth' })
  other.service.fail('POST', '/api/v1/access_token', { status: 503 }, { status: 503 }, { status: 503 })
  await t.rejects(new ChannelRun().attempt(other.reddit, POST), { code: 'http_503', outcomeUnknown: false })
})

t.test('reddit reports a silent server as an unknown outcome', async t => {
  const { service, reddit } = await openReddit(t)
  service.fail(...SUBMIT, 'silent')
  await t.rejects(new ChannelRun().attempt(reddit, POST, { silenceMs: 300 }), { code: 'timeout', outcomeUnknown: true })
})

t.test('reddit previews what it sends: titles of 300, derived texts of the setting, Markdown escaped', async t => {
  const { reddit } = await openReddit(t)
  const long = postWith(
    { subreddit: 'x1' },
    { title: 'A long title '.repeat(40), summary: 'a *bold* `claim` '.repeat(100) }
  )
  const [title, text] = await reddit.preview(long)
  t.match(title, { label: 'title', limit: 300, unit: 'characters' })
  t.ok((title?.length ?? 0) <= 300 && title?.text.endsWith('...'))
  t.match(text?.text, /^a \\\*bold\\\* \\`claim\\` /)
  t.ok(text?.text.endsWith('\n\nhttps://example.org/news/release-2.html'))
  t.ok([...(text?.text.replace(/\\/g, '') ?? '')].length <= 700)
  const own = postWith({ subreddit: 'x1', text: 'Own *text*' })
  t.match(await reddit.preview(own), [{}, { text: 'Own *text*', limit: 40_000 }])
})

t.test('reddit derives texts up to the setting, which template profiles change', async t => {
  const { channel } = await openChannels(t, { settings: { reddit_selfpost_summary_max: 200 } })
  const lengthWith = async (capFactor: number) => {
    const adjust = { marginChars: 0, capFactor }
    const [, text] = await channel('reddit').preview(
      postWith({ subreddit: 'x1' }, { summary: 'word '.repeat(99), adjust })
    )
    return text?.length ?? 0
  }
  const lengths = await Promise.all([0.88, 1, 1.14].map(lengthWith))
  t.ok(
    lengths.every((length, n) => length <= [176, 200, 228][n]! && length > [160, 185, 210][n]!),
    String(lengths)
  )
})
