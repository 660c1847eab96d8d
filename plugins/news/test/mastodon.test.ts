import t from 'tap'
import { ATTEMPT_KEY, ChannelRun, type FailureMatch, openChannels, postWith } from './channel-run.ts'
import { openMastodon } from './mastodon-server.ts'
import type { ServiceAnswer } from './service-server.ts'

const CREATE = ['POST', '/api/v1/statuses'] as const

t.test('mastodon sends the documented body with the key of the attempts', async t => {
  const { service, mastodon } = await openMastodon(t)
  const receipt = await new ChannelRun().attempt(
    mastodon,
    postWith({ language: 'en', spoiler_text: 'Release', sensitive: false })
  )
  t.same(receipt, { externalId: '103254962155278888', url: 'https://mastodon.example/@news/103254962155278888' })
  const [request] = service.requests(...CREATE)
  t.equal(request?.headers['idempotency-key'], ATTEMPT_KEY)
  t.same(request?.json(), {
    status: 'Version 2 checks 1,000 files in 0.3 s.\n\nhttps://example.org/news/release-2.html',
    visibility: 'public',
    language: 'en',
    spoiler_text: 'Release',
    sensitive: false
  })
})

t.test('mastodon uses the visibility of the item before that of the settings', async t => {
  const { statuses, mastodon } = await openMastodon(t, { mastodon_visibility: 'unlisted' })
  await new ChannelRun().attempt(mastodon, postWith({ text: 'one' }))
  await new ChannelRun().attempt(mastodon, postWith({ text: 'two', visibility: 'private' }), {})
  t.same([statuses[0]?.visibility, statuses.length], ['unlisted', 1], 'the same key is the same post')
})

t.test('mastodon counts addresses as 23 and mentions without their server, within the limit of the server', async t => {
  const { mastodon } = await openMastodon(t, { mastodon_max_characters: 100 })
  const [text] = await mastodon.preview(
    postWith({}, { summary: 'word @ada@mastodon.example '.repeat(20), link: `https://example.org/${'x'.repeat(200)}` })
  )
  t.ok((text?.length ?? 0) <= 100 && (text?.length ?? 0) > 80, `${text?.length}`)
  t.match(text?.text, /^word @ada@mastodon\.example .*\.\.\.\n\nhttps:\/\/example\.org\/x{200}$/)
  const previews = await mastodon.preview(postWith({ spoiler_text: 'w'.repeat(60), text: 'y'.repeat(80) }))
  t.match(previews, [{ label: 'warning' }, { text: `${'y'.repeat(37)}...`, limit: 40 }])
  for (const length of [80, 100, 200])
    await t.rejects(mastodon.preview(postWith({ spoiler_text: 'w'.repeat(length) })), {
      code: 'text_limit_too_small',
      failureClass: 'config'
    })
})

t.test('mastodon finds the post of an attempt whose answer was lost, by its exact text', async t => {
  const { service, statuses, mastodon } = await openMastodon(t)
  service.fail(...CREATE, 'cut-after')
  const run = new ChannelRun()
  const post = postWith({ text: 'a < b & c' })
  await t.rejects(run.attempt(mastodon, post), { code: 'network', outcomeUnknown: true })
  t.match(await run.attempt(mastodon, post), { externalId: statuses[0]?.id ?? 'missing' })
  t.equal(service.requests(...CREATE).length, 1)
})

t.test(
  'mastodon finds an earlier post by the text that was sent, without the space at its ends, after the key has ended',
  async t => {
    const { service, statuses, keys, mastodon } = await openMastodon(t)
    const long = { summary: 'word '.repeat(200) }
    const rows = [
      [postWith({ text: '\n Hello \n' }), postWith({ text: '\n Hello \n' })],
      [postWith({}, long), postWith({}, { ...long, adjust: { marginChars: -16, capFactor: 0.88 } })]
    ] as const
    for (const [n, [first, changed]] of rows.entries()) {
      service.fail(...CREATE, 'cut-after')
      const run = new ChannelRun()
      await t.rejects(run.attempt(mastodon, first), { code: 'network' })
      keys.clear()
      run.checkpoint = { ...run.checkpoint, first_sent_at_ms: Date.now() - 3_600_000 }
      run.later()
      t.match(await run.attempt(mastodon, changed), { externalId: statuses[n]?.id ?? 'missing' })
      t.equal(statuses.length, n + 1)
    }
  }
)

t.test('mastodon does not take an older post with the same text for that of an attempt that sent nothing', async t => {
  const { statuses, mastodon } = await openMastodon(t)
  const older = { visibility: 'public', created_at: '2026-01-01T00:00:00.000Z', url: 'https://m.example/1' }
  statuses.push({ ...older, id: '1', text: 'Join us' })
  const run = new ChannelRun()
  run.endsAfter = 0
  await t.rejects(run.attempt(mastodon, postWith({ text: 'Join us' })), { message: 'the process ended' })
  run.endsAfter = Number.POSITIVE_INFINITY
  t.match(await run.attempt(mastodon, postWith({ text: 'Join us' })), { externalId: /^1032/ })
  t.equal(statuses.length, 2)
})

t.test('mastodon leaves the outcome to a person where an account has more posts than an answer lists', async t => {
  const { service, statuses, keys, mastodon } = await openMastodon(t)
  service.fail(...CREATE, 'cut-after')
  const run = new ChannelRun()
  await t.rejects(run.attempt(mastodon, postWith({})), { code: 'network' })
  const other = {
    text: 'another',
    visibility: 'public',
    created_at: new Date().toISOString(),
    url: 'https://m.example/1'
  }
  statuses.push(...Array.from({ length: 40 }, (_, n) => ({ ...other, id: String(n) })))
  keys.clear()
  run.checkpoint = { ...run.checkpoint, first_sent_at_ms: Date.now() - 3_600_000 }
  await t.rejects(run.attempt(mastodon, postWith({})), { code: 'outcome_unknown' })
  t.equal(service.requests(...CREATE).length, 1)
})

t.test('mastodon relies on the key of the request for an hour where the token may not read posts', async t => {
  const { service, statuses, keys, mastodon } = await openMastodon(t)
  service.fail(...CREATE, 'cut-after', 'cut-after')
  const denied = { status: 403, body: { error: 'This action is outside the authorized scopes' } }
  service.fail('GET', '/api/v1/accounts/verify_credentials', denied, denied, denied)
  const run = new ChannelRun()
  await t.rejects(run.attempt(mastodon, postWith({})), { code: 'network' })
  await t.rejects(run.attempt(mastodon, postWith({})), { code: 'network' }, 'sent again with the same key')
  keys.clear()
  run.checkpoint = { ...run.checkpoint, first_sent_at_ms: Date.now() - 3_600_000 }
  await t.rejects(run.attempt(mastodon, postWith({})), { code: 'outcome_unknown', failureClass: 'fatal' })
  t.equal(statuses.length, 1)
})

t.test('mastodon maps answers of the API to classes', async t => {
  const { service, statuses, mastodon } = await openMastodon(t)
  const cases: [ServiceAnswer, FailureMatch][] = [
    [{ status: 401 }, { code: 'http_401', failureClass: 'auth' }],
    [{ status: 403 }, { code: 'http_403', failureClass: 'auth' }],
    [{ status: 404 }, { code: 'http_404', failureClass: 'fatal' }],
    [{ status: 409 }, { code: 'http_409', failureClass: 'fatal' }],
    [
      { status: 422, body: { error: 'Validation failed: Text character limit of 500 exceeded' } },
      { code: 'mastodon_text_refused', failureClass: 'fatal' }
    ],
    [
      { status: 429, headers: { 'retry-after': '30' } },
      { code: 'http_429', failureClass: 'rate_limit', retryAfterMs: 30_000 }
    ],
    [{ status: 500 }, { code: 'http_500', failureClass: 'transient', outcomeUnknown: true }],
    [
      { status: 200, body: {} },
      { code: 'answer_invalid', failureClass: 'transient', outcomeUnknown: true }
    ]
  ]
  for (const [answer, failure] of cases) {
    service.fail(...CREATE, answer)
    await t.rejects(new ChannelRun().attempt(mastodon, postWith({})), failure, JSON.stringify(answer))
  }
  service.fail(...CREATE, {
    status: 429,
    headers: { 'x-ratelimit-reset': new Date(Date.now() + 600_000).toISOString() }
  })
  const limited = await new ChannelRun().attempt(mastodon, postWith({})).catch(error => error)
  t.ok(limited.retryAfterMs > 300_000 && limited.retryAfterMs <= 600_000, `${limited.retryAfterMs}`)
  service.fail(...CREATE, 'silent')
  await t.rejects(new ChannelRun().attempt(mastodon, postWith({}), { silenceMs: 50 }), { code: 'timeout' })
  t.equal(statuses.length, 0)
})

t.test('mastodon needs a server and a token', async t => {
  const without = await openChannels(t, { settings: {} })
  t.match(await without.channel('mastodon').problem(), { message: /SVC_SOCIAL_MASTODON_ACCESS_TOKEN is not set/ })
  const half = await openChannels(t, { settings: { mastodon_access_token: 'm' } })
  t.match(await half.channel('mastodon').problem(), { message: /SVC_SOCIAL_MASTODON_BASE_URL is not set/ })
  await t.rejects(new ChannelRun().attempt(half.channel('mastodon'), postWith({})), { code: 'server_missing' })
})
