import t, { type Test } from 'tap'
import { ChannelRun, type FailureMatch, openChannels, postWith } from './channel-run.ts'
import { openService, type ServiceAnswer } from './service-server.ts'

const TOKEN = 'open-collective-token-1'
const MARKER = '#svc-0123456789abcdef'

/**
 * Speaks the GraphQL API v2 of Open Collective as in opencollective/opencollective-api:
 * server/graphql/schemaV2.graphql (account.updates), v2/mutation/UpdateMutations.js, v2/input/UpdateCreateInput.js and
 * v2/query/UpdateQuery.ts.
 */
async function openCollective(t: Test) {
  const updates: { id: string; slug: string; html: string; publishedAt: string | null; [more: string]: unknown }[] = []
  const published: unknown[] = []
  const service = await openService(t, request => {
    if (request.path !== '/graphql/v2' || request.method !== 'POST') return undefined
    if (request.headers['personal-token'] !== TOKEN)
      return { body: { data: null, errors: [{ message: 'no', extensions: { code: 'Unauthorized' } }] } }
    const { query, variables } = request.json()
    const name = /^\w+ (\w+)/.exec(query)?.[1]
    if (name === 'CreateUpdate') return create(variables.update)
    if (name === 'ListUpdates') return { body: { data: { account: { updates: { nodes: updates.toReversed() } } } } }
    const update = updates.find(({ id }) => id === variables.id) ?? null
    if (name === 'ReadUpdate') return { body: { data: { update } } }
    if (name === 'PublishUpdate' && update !== null) {
      published.push(variables)
      update.publishedAt = '2026-03-01T10:00:00Z'
      return { body: { data: { publishUpdate: update } } }
    }
    return { status: 400, body: { errors: [{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }] } }
  })
  const create = (update: { title?: unknown; html?: unknown; account?: { slug?: unknown } }): ServiceAnswer => {
    if (typeof update.title !== 'string' || update.account?.slug !== 'acme')
      return { status: 400, body: { errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] } }
    const entry = {
      ...update,
      html: String(update.html),
      id: `update-${updates.length + 1}`,
      slug: 'svc-2',
      publishedAt: null
    }
    updates.push(entry)
    return { body: { data: { createUpdate: entry } } }
  }
  const { channel } = await openChannels(t, {
    settings: { open_collective_token: TOKEN, open_collective_slug: 'acme', open_collective_api_base: service.url }
  })
  return { service, updates, published, collective: channel('open_collective') }
}

const QUERY = ['POST', '/graphql/v2'] as const
const POST = postWith({ audience: 'NO_ONE' })

t.test('open_collective creates an update with the documented input, then publishes it', async t => {
  const { service, updates, published, collective } = await openCollective(t)
  t.same(await new ChannelRun().attempt(collective, POST), {
    externalId: 'update-1',
    url: 'https://opencollective.com/acme/updates/svc-2'
  })
  t.same(service.requests(...QUERY)[0]?.json().variables, {
    update: {
      title: 'svc 2 is released',
      html: `<p>Version 2 checks 1,000 files in 0.3 s.</p><p><a href="https://example.org/news/release-2.html${MARKER}">https://example.org/news/release-2.html</a></p>`,
      isPrivate: false,
      account: { slug: 'acme' }
    }
  })
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
  for (const endsAfter of [0, 1]) {
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

t.test('open_collective escapes the text of an item', async t => {
  const { updates, collective } = await openCollective(t)
  await new ChannelRun().attempt(collective, postWith({ text: 'a < b & "c"\n\nnext' }))
  t.match(updates[0]?.html, /^<p>a &lt; b &amp; &quot;c&quot;<\/p><p>next<\/p>/)
})
