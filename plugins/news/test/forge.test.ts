import t from 'tap'
import { ChannelRun, type FailureMatch, postWith, requestFixture } from './channel-run.ts'
import { openForge } from './forge-server.ts'
import type { ServiceAnswer } from './service-server.ts'

const REPOSITORY = { repository: 'acme/tool' }
const RELEASE = postWith({ ...REPOSITORY, target: 'release', tag: 'v2.0.0' })
const ISSUE = postWith({ ...REPOSITORY, target: 'issue' })
const COMMENT = postWith({ ...REPOSITORY, target: 'comment', issue: 7 })

t.test('forge creates releases, issues and comments with the documented bodies', async t => {
  const { releases, issues, comments, forge } = await openForge(t)
  t.equal(forge.name, 'forge')
  t.match(await new ChannelRun().attempt(forge, RELEASE), {
    externalId: '100',
    url: 'https://github.com/acme/tool/releases/0'
  })
  await new ChannelRun().attempt(forge, ISSUE)
  await new ChannelRun().attempt(forge, COMMENT)
  t.same(
    [releases, issues, comments].map(([entry]) => ({ ...entry, id: undefined, html_url: undefined })),
    ['release', 'issue', 'comment'].map(name => ({
      ...requestFixture(`forge-${name}`),
      id: undefined,
      html_url: undefined
    }))
  )
})

t.test('forge can begin a discussion with a release', async t => {
  const { releases, forge } = await openForge(t)
  const options = {
    ...REPOSITORY,
    target: 'release',
    tag: 'v3',
    prerelease: true,
    discussion_category: 'Announcements'
  }
  await new ChannelRun().attempt(forge, postWith(options))
  t.match(releases, [{ discussion_category_name: 'Announcements', prerelease: true }])
})

for (const [kind, post, path] of [
  ['release', RELEASE, '/repos/acme/tool/releases'],
  ['issue', ISSUE, '/repos/acme/tool/issues'],
  ['comment', COMMENT, '/repos/acme/tool/issues/7/comments']
] as const) {
  t.test(`forge creates a ${kind} once when an answer is lost`, async t => {
    const { service, releases, issues, comments, forge } = await openForge(t)
    service.fail('POST', path, 'cut-after')
    const run = new ChannelRun()
    await t.rejects(run.attempt(forge, post), { code: 'network', outcomeUnknown: true })
    t.match(await run.attempt(forge, post), { externalId: '100' })
    t.equal(releases.length + issues.length + comments.length, 1)
    t.equal(service.requests('POST', path).length, 1)
  })
}

t.test('forge looks through pages, and stops where a forge has none', async t => {
  for (const paged of [true, false]) {
    const { service, comments, forge } = await openForge(t, { paged })
    for (let id = 0; id < 60; id++) comments.push({ id, body: 'another comment' })
    service.fail('POST', '/repos/acme/tool/issues/7/comments', 'cut-after')
    const run = new ChannelRun()
    await t.rejects(run.attempt(forge, COMMENT), { code: 'network' })
    t.match(await run.attempt(forge, COMMENT), { externalId: '160' })
    t.equal(comments.length, 61)
  }
})

t.test('forge cuts an own text to what GitHub accepts', async t => {
  const { forge } = await openForge(t)
  const [, text] = await forge.preview(postWith({ ...REPOSITORY, target: 'issue', text: '🚀'.repeat(60_000) }))
  t.ok(text !== undefined && text.length <= text.limit - 100 && text.length > 60_000, String(text?.length))
})

t.test('forge does not touch a release that others created', async t => {
  const { service, releases, forge } = await openForge(t)
  releases.push({ id: 1, tag_name: 'v2.0.0', body: 'by hand' })
  await t.rejects(new ChannelRun().attempt(forge, RELEASE), { code: 'release_exists', failureClass: 'fatal' })
  t.equal(service.requests('POST', '/repos/acme/tool/releases').length, 0)
})

t.test('forge maps answers of the API to classes; 403 may be a rate limit', async t => {
  const { service, issues, forge } = await openForge(t)
  const reset = String(Math.ceil(Date.now() / 1_000) + 600)
  const cases: [ServiceAnswer, FailureMatch][] = [
    [{ status: 401 }, { code: 'http_401', failureClass: 'auth' }],
    [{ status: 403 }, { code: 'http_403', failureClass: 'auth' }],
    [
      { status: 403, headers: { 'retry-after': '60' } },
      { code: 'forge_rate_limit', failureClass: 'rate_limit', retryAfterMs: 60_000 }
    ],
    [
      { status: 403, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': 'soon' } },
      { code: 'forge_rate_limit', failureClass: 'rate_limit', retryAfterMs: 60_000 }
    ],
    [
      { status: 403, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset } },
      { code: 'forge_rate_limit', failureClass: 'rate_limit' }
    ],
    [{ status: 404 }, { code: 'http_404', failureClass: 'fatal' }],
    [{ status: 409 }, { code: 'http_409', failureClass: 'fatal' }],
    [{ status: 422 }, { code: 'http_422', failureClass: 'fatal' }],
    [
      { status: 429, headers: { 'retry-after': '90' } },
      { code: 'http_429', failureClass: 'rate_limit', retryAfterMs: 90_000 }
    ],
    [{ status: 502 }, { code: 'http_502', failureClass: 'transient', outcomeUnknown: true }],
    [
      { status: 201, body: {} },
      { code: 'answer_invalid', failureClass: 'transient', outcomeUnknown: true }
    ]
  ]
  for (const [answer, failure] of cases) {
    service.fail('POST', '/repos/acme/tool/issues', answer)
    await t.rejects(new ChannelRun().attempt(forge, ISSUE), failure, JSON.stringify(answer))
  }
  t.equal(issues.length, 0)
})

t.test('forge leaves the outcome to a person where the list cannot be read', async t => {
  const { service, forge } = await openForge(t)
  service.fail('POST', '/repos/acme/tool/issues', 'cut-after')
  service.fail('GET', '/repos/acme/tool/issues', { status: 404 })
  const run = new ChannelRun()
  await t.rejects(run.attempt(forge, ISSUE), { code: 'network' })
  await t.rejects(run.attempt(forge, ISSUE), { code: 'outcome_unknown', failureClass: 'fatal' })
})
