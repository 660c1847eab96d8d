import t from 'tap'
import { ChannelRun, type FailureMatch, openChannels, postWith, requestFixture } from './channel-run.ts'
import { openLinkedIn, TOKEN } from './linkedin-server.ts'
import type { ServiceAnswer } from './service-server.ts'

const CREATE = ['POST', '/rest/posts'] as const

t.test('linkedin sends the documented body, and escapes all reserved characters but those of hashtags', async t => {
  const { service, linkedin } = await openLinkedIn(t)
  const post = postWith(
    { hashtags: ['TypeScript', 'Übung'] },
    { summary: 'A (small) #step_forward for @all {really} | *now* <1>~' }
  )
  const receipt = await new ChannelRun().attempt(linkedin, post)
  t.same(receipt, {
    externalId: 'urn:li:share:7000000000000',
    url: 'https://www.linkedin.com/feed/update/urn:li:share:7000000000000/'
  })
  t.same(service.requests(...CREATE)[0]?.json(), requestFixture('linkedin-post'))
  const [text] = await linkedin.preview(post)
  t.match(text, { limit: 3_000, text: /\(small\).*#TypeScript #Übung$/s })
})

t.test('linkedin takes a duplicate for the post that an earlier attempt sent', async t => {
  const { posts, linkedin } = await openLinkedIn(t)
  await new ChannelRun().attempt(linkedin, postWith({}))
  t.match(await new ChannelRun().attempt(linkedin, postWith({})), { externalId: 'urn:li:share:7000000000000' })
  t.equal(posts.length, 1)
})

t.test('linkedin finds the post of an attempt whose answer was lost, and sends it once', async t => {
  const { service, posts, linkedin } = await openLinkedIn(t)
  service.fail(...CREATE, 'cut-after')
  const run = new ChannelRun()
  await t.rejects(run.attempt(linkedin, postWith({})), { code: 'network', outcomeUnknown: true })
  t.match(await run.attempt(linkedin, postWith({})), { externalId: 'urn:li:share:7000000000000' })
  t.equal(posts.length, 1)
  t.equal(service.requests(...CREATE).length, 1)
})

t.test('linkedin leaves the outcome to a person where the token may not read posts', async t => {
  const { service, linkedin } = await openLinkedIn(t)
  service.fail(...CREATE, 'cut-after')
  service.fail('GET', '/rest/posts', { status: 403, body: { code: 'ACCESS_DENIED' } })
  const run = new ChannelRun()
  await t.rejects(run.attempt(linkedin, postWith({})), { code: 'network', outcomeUnknown: true })
  await t.rejects(run.attempt(linkedin, postWith({})), { code: 'outcome_unknown', failureClass: 'fatal' })
  t.equal(service.requests(...CREATE).length, 1)
})

t.test('linkedin leaves the outcome to a person where a full list does not reach the first attempt', async t => {
  const { service, posts, linkedin } = await openLinkedIn(t)
  service.fail(...CREATE, 'cut-before')
  const run = new ChannelRun()
  await t.rejects(run.attempt(linkedin, postWith({})), { code: 'network' })
  run.later(60_000)
  const author = 'urn:li:organization:5515715'
  for (let n = 0; n < 50; n++) posts.push({ id: `urn:li:share:${n}`, author, commentary: 'x', createdAt: Date.now() })
  await t.rejects(run.attempt(linkedin, postWith({})), { code: 'outcome_unknown', failureClass: 'fatal' })
  posts[49] = { ...posts[49], createdAt: 1, lastModifiedAt: 1 }
  await run.attempt(linkedin, postWith({}))
  t.equal(service.requests(...CREATE).length, 2)
})

t.test('linkedin sends a post again only after a lost request had time to appear', async t => {
  const { service, posts, linkedin } = await openLinkedIn(t)
  service.fail(...CREATE, 'cut-before')
  const run = new ChannelRun()
  await t.rejects(run.attempt(linkedin, postWith({})), { code: 'network' })
  await t.rejects(run.attempt(linkedin, postWith({})), { code: 'outcome_pending' })
  run.later()
  await run.attempt(linkedin, postWith({}))
  t.equal(posts.length, 1)
})

t.test('linkedin maps answers of the API to classes', async t => {
  const { service, posts, linkedin } = await openLinkedIn(t)
  const cases: [ServiceAnswer, FailureMatch][] = [
    [{ status: 401 }, { code: 'http_401', failureClass: 'auth' }],
    [{ status: 403 }, { code: 'http_403', failureClass: 'auth' }],
    [{ status: 404 }, { code: 'http_404', failureClass: 'fatal' }],
    [
      { status: 409, body: { code: 'CONFLICT' } },
      { code: 'linkedin_conflict', failureClass: 'fatal' }
    ],
    [
      { status: 422, body: { code: 'INVALID_URN' } },
      { code: 'linkedin_invalid_urn', failureClass: 'fatal' }
    ],
    [
      { status: 422, body: '<html>' },
      { code: 'http_422', failureClass: 'fatal' }
    ],
    [
      { status: 429, headers: { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() } },
      { code: 'http_429', failureClass: 'rate_limit' }
    ],
    [{ status: 500 }, { code: 'http_500', failureClass: 'transient', outcomeUnknown: true }],
    [{ status: 201 }, { code: 'answer_invalid', failureClass: 'transient', outcomeUnknown: true }]
  ]
  for (const [answer, failure] of cases) {
    service.fail(...CREATE, answer)
    await t.rejects(new ChannelRun().attempt(linkedin, postWith({})), failure, JSON.stringify(answer))
  }
  t.equal(posts.length, 0)
})

t.test('linkedin needs a token and an author', async t => {
  const without = await openChannels(t, { settings: {} })
  t.match(await without.channel('linkedin').problem(), { message: /SVC_SOCIAL_LINKEDIN_ACCESS_TOKEN is not set/ })
  const half = await openChannels(t, { settings: { linkedin_access_token: TOKEN } })
  t.match(await half.channel('linkedin').problem(), { message: /SVC_SOCIAL_LINKEDIN_AUTHOR_URN is not set/ })
  await t.rejects(new ChannelRun().attempt(half.channel('linkedin'), postWith({})), {
    code: 'author_missing',
    failureClass: 'config'
  })
})
