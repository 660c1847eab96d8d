import t from 'tap'
import { ChannelRun, type FailureMatch, postWith, requestFixture } from './channel-run.ts'
import { openCollective } from './open-collective-server.ts'
import type { ServiceAnswer } from './service-server.ts'

const QUERY = ['POST', '/graphql/v2'] as const
const POST = postWith({ audience: 'NO_ONE' })

t.test('open_collective creates an update with the documented input, then publishes it', async t => {
  const { service, updates, published, collective } = await openCollective(t)
  t.same(await new ChannelRun().attempt(collective, POST), {
    externalId: 'update-1',
    url: 'https://opencollective.com/acme/updates/svc-2'
  })
  t.same(service.requests(...QUERY)[0]?.json().variables, requestFixture('open-collective-update'))
  t.same(published, [{ id: 'update-1', audience: 'NO_ONE' }])
  t.equal(updates.length, 1)
})

t.test('open_collective continues after each lost answer without a second update or notification', async t => {
  for (const lost of [0, 1, 2]) {
    const { service, updates, published, collective } = await openCollective(t)
    const run = new ChannelRun()
    // The answers of creating, reading and publishing are lost in turn.
    service.fail(...QUERY, ...Array<undefined>(lost).fill(undefined), 'cut-after')
    await t.rejects(run.attempt(collective, POST), { code: 'network' })
    t.match(await run.attempt(collective, POST), { externalId: 'update-1' })
    t.equal(updates.length, 1)
    t.equal(published.length, 1)
  }
})

t.test('open_collective ends where the process ends after each checkpoint, and continues', async t => {
  for (const endsAfter of [0, 1, 2]) {
    const { updates, published, collective } = await openCollective(t)
    const run = new ChannelRun()
    run.endsAfter = endsAfter
    await t.rejects(run.attempt(collective, POST), { message: 'the process ended' })
    run.endsAfter = Number.POSITIVE_INFINITY
    await run.attempt(collective, POST)
    t.equal(updates.length, 1)
    t.equal(published.length, 1)
  }
})

t.test('open_collective waits before it publishes again what a lost request may still publish', async t => {
  const { service, published, collective } = await openCollective(t)
  service.fail(...QUERY, undefined, undefined, 'cut-before')
  const run = new ChannelRun()
  await t.rejects(run.attempt(collective, POST), { code: 'network' })
  await t.rejects(run.attempt(collective, POST), { code: 'outcome_pending', failureClass: 'transient' })
  t.equal(published.length, 0)
  run.later()
  await run.attempt(collective, POST)
  t.equal(published.length, 1)
})

t.test('open_collective leaves the outcome to a person where a full list does not reach the first attempt', async t => {
  const { service, updates, collective } = await openCollective(t)
  service.fail(...QUERY, 'cut-before')
  const run = new ChannelRun()
  await t.rejects(run.attempt(collective, POST), { code: 'network' })
  run.later(60_000)
  const createdAt = new Date().toISOString()
  for (let n = 0; n < 50; n++) updates.push({ id: `x${n}`, slug: 'x', html: '', publishedAt: null, createdAt })
  await t.rejects(run.attempt(collective, POST), { code: 'outcome_unknown', failureClass: 'fatal' })
  updates.unshift({ id: 'old', slug: 'x', html: '', publishedAt: null, createdAt: '2020-01-01T00:00:00Z' })
  updates.pop()
  t.match(await run.attempt(collective, POST), { externalId: 'update-51' })
})

t.test('open_collective reports an update that was removed before it was published', async t => {
  const { service, updates, collective } = await openCollective(t)
  service.fail(...QUERY, undefined, undefined, { status: 503 })
  const run = new ChannelRun()
  await t.rejects(run.attempt(collective, POST), { code: 'http_503' })
  updates.length = 0
  await t.rejects(run.attempt(collective, POST), { code: 'update_removed', failureClass: 'fatal' })
  t.equal(updates.length, 0)
})

t.test('open_collective maps errors of GraphQL and of HTTP to classes', async t => {
  const { service, updates, collective } = await openCollective(t)
  const error = (code: string): ServiceAnswer => ({
    body: { data: null, errors: [{ message: 'x', extensions: { code } }] }
  })
  const cases: [ServiceAnswer, FailureMatch][] = [
    [error('Unauthorized'), { code: 'open_collective_unauthorized', failureClass: 'auth' }],
    [error('Forbidden'), { code: 'open_collective_forbidden', failureClass: 'auth' }],
    [error('RateLimitExceeded'), { code: 'open_collective_ratelimitexceeded', failureClass: 'rate_limit' }],
    [
      error('INTERNAL_SERVER_ERROR'),
      { code: 'open_collective_internal_server_error', failureClass: 'transient', outcomeUnknown: true }
    ],
    [
      { body: { data: null, errors: [{ message: 'x' }] } },
      { code: 'open_collective_internal', failureClass: 'transient', outcomeUnknown: true }
    ],
    [error('BAD_USER_INPUT'), { code: 'open_collective_bad_user_input', failureClass: 'fatal' }],
    [
      { body: { data: { createUpdate: null } } },
      { code: 'answer_invalid', failureClass: 'transient', outcomeUnknown: true }
    ],
    [{ status: 401 }, { code: 'http_401', failureClass: 'auth' }],
    [
      { status: 429, headers: { 'retry-after': '30' } },
      { code: 'http_429', failureClass: 'rate_limit', retryAfterMs: 30_000 }
    ],
    [{ status: 500 }, { code: 'http_500', failureClass: 'transient', outcomeUnknown: true }]
  ]
  for (const [answer, failure] of cases) {
    service.fail(...QUERY, answer)
    await t.rejects(new ChannelRun().attempt(collective, POST), failure, JSON.stringify(answer))
  }
  t.equal(updates.length, 0)
})

t.test('open_collective escapes the text of an item, and previews it with its link', async t => {
  const { updates, collective } = await openCollective(t)
  const post = postWith({ text: 'a < b & "c"\n\nnext' })
  t.match(await collective.preview(post), [{}, { text: `a < b & "c"\n\nnext\n\n${post.link}`, limit: 10_000 }])
  await new ChannelRun().attempt(collective, post)
  t.match(updates[0]?.html, /^<p>a &lt; b &amp; &quot;c&quot;<\/p><p>next<\/p>/)
})
