import fc from 'fast-check'
import t from 'tap'
import { recordKey } from '#root'
import { openBluesky } from './bluesky-server.ts'
import { ATTEMPT_KEY, ChannelRun, type FailureMatch, openChannels, postWith } from './channel-run.ts'
import type { ServiceAnswer } from './service-server.ts'

const PUT = ['POST', '/xrpc/com.atproto.repo.putRecord'] as const
const RKEY = recordKey({ publishedAt: '2026-03-01T09:00:00.000Z' }, ATTEMPT_KEY)

t.test('bluesky sends a record as in the lexicon, with a card for the link', async t => {
  const { service, bluesky } = await openBluesky(t)
  const receipt = await new ChannelRun().attempt(bluesky, postWith({ langs: ['en'] }))
  t.same(receipt, {
    externalId: `at://did:plc:ewvi7nxzyoun6zhxrhs64oiz/app.bsky.feed.post/${RKEY}`,
    url: `https://bsky.app/profile/did:plc:ewvi7nxzyoun6zhxrhs64oiz/post/${RKEY}`
  })
  const body = service.requests(...PUT)[0]?.json()
  t.ok(Date.parse(body.record.createdAt) > 0)
  t.same(
    { ...body, record: { ...body.record, createdAt: 'now' } },
    {
      repo: 'did:plc:ewvi7nxzyoun6zhxrhs64oiz',
      collection: 'app.bsky.feed.post',
      rkey: RKEY,
      validate: true,
      swapRecord: null,
      record: {
        $type: 'app.bsky.feed.post',
        text: 'Version 2 checks 1,000 files in 0.3 s.',
        createdAt: 'now',
        langs: ['en'],
        embed: {
          $type: 'app.bsky.embed.external',
          external: {
            uri: 'https://example.org/news/release-2.html',
            title: 'svc 2 is released',
            description: 'Version 2 checks 1,000 files in 0.3 s.'
          }
        }
      }
    }
  )
})

t.test('bluesky marks links, hashtags and known mentions by bytes, also after characters of several bytes', async t => {
  const { records, bluesky } = await openBluesky(t)
  const text = '👨‍👩‍👧 é見 https://example.org/é?x=1 #größe @ada.example.org @none.example.org example.com.'
  await new ChannelRun().attempt(bluesky, postWith({ text, card: false }))
  const record = records.get(RKEY)
  const bytes = Buffer.from(record.text)
  const marked = record.facets.map(({ index, features: [{ $type, ...rest }] }: any) => [
    bytes.subarray(index.byteStart, index.byteEnd).toString(),
    $type.split('#')[1],
    Object.values(rest)[0]
  ])
  t.same(marked, [
    ['https://example.org/é?x=1', 'link', 'https://example.org/é?x=1'],
    ['#größe', 'tag', 'größe'],
    ['@ada.example.org', 'mention', 'did:plc:ada'],
    ['example.com', 'link', 'https://example.com']
  ])
  t.equal(record.embed, undefined)
})

t.test('bluesky keeps both limits, of graphemes and of bytes', async t => {
  const { records, bluesky } = await openBluesky(t)
  const family = '👨‍👩‍👧'
  await new ChannelRun().attempt(bluesky, postWith({}, { summary: family.repeat(290) }))
  const { text } = records.get(RKEY)
  t.ok(Buffer.byteLength(text) <= 3_000 && Buffer.byteLength(text) > 2_900, `${Buffer.byteLength(text)}`)
  t.match(text, new RegExp(`^(?:${family})+\\.\\.\\.$`))
  const [preview] = await bluesky.preview(postWith({ card: false }, { summary: 'word '.repeat(100) }))
  t.match(preview, {
    limit: 300,
    unit: 'graphemes',
    text: /word\.\.\.\n\nhttps:\/\/example\.org\/news\/release-2\.html$/
  })
  t.ok((preview?.length ?? 0) <= 300)
})

t.test('bluesky follows a template profile', async t => {
  const { bluesky } = await openBluesky(t)
  const post = postWith({}, { summary: 'word '.repeat(100), adjust: { marginChars: -16, capFactor: 0.88 } })
  const [text] = await bluesky.preview(post)
  t.ok((text?.length ?? 0) <= 264 && (text?.length ?? 0) > 250, `${text?.length}`)
})

t.test('bluesky marks whole characters in any text', async t => {
  const { records, bluesky } = await openBluesky(t)
  const piece = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom(
      ' ',
      'https://example.org/é',
      'example.com',
      '#größe',
      '#👩',
      '@ada.example.org',
      '見',
      '👨‍👩‍👧',
      '\u0301'
    )
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { minLength: 1, maxLength: 20 }).map(parts => `x${parts.join('')}`),
      async text => {
        records.clear()
        // The server refuses facets that do not begin and end between characters.
        await new ChannelRun().attempt(bluesky, postWith({ text: Buffer.from(text).toString() }))
        return records.size === 1
      }
    ),
    { numRuns: 60 }
  )
})

t.test('the key of a record is a TID, and the same for each attempt', t => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date(0), max: new Date('2200-01-01'), noInvalidDate: true }),
      fc.stringMatching(/^[0-9a-f]{32}$/),
      (date, key) => {
        const found = recordKey({ publishedAt: date.toISOString() }, key)
        return /^[2-7a-j][2-7a-z]{12}$/.test(found) && found === recordKey({ publishedAt: date.toISOString() }, key)
      }
    )
  )
  const at = (publishedAt: string) => recordKey({ publishedAt }, ATTEMPT_KEY)
  t.ok(at('2026-03-01T09:00:00.000Z') < at('2026-03-01T09:00:00.001Z'), 'keys are in the order of time')
  t.end()
})

t.test('bluesky writes the same record again after an attempt whose answer was lost', async t => {
  const { service, records, bluesky } = await openBluesky(t)
  service.fail(...PUT, 'cut-after', 'cut-before')
  const run = new ChannelRun()
  await t.rejects(run.attempt(bluesky, postWith({})), { code: 'network', outcomeUnknown: true })
  await t.rejects(run.attempt(bluesky, postWith({})), { code: 'network' })
  t.match(await run.attempt(bluesky, postWith({})), { url: new RegExp(`/post/${RKEY}$`) })
  t.equal(records.size, 1)
  t.equal(run.checkpoints[0]?.created_at, records.get(RKEY).createdAt)
})

t.test('bluesky never replaces another post', async t => {
  const { records, bluesky } = await openBluesky(t)
  records.set(RKEY, { $type: 'app.bsky.feed.post', text: 'another post', createdAt: '2026-01-01T00:00:00Z' })
  await t.rejects(new ChannelRun().attempt(bluesky, postWith({})), { code: 'record_key_taken', failureClass: 'fatal' })
  t.equal(records.get(RKEY).text, 'another post')
})

t.test('bluesky refreshes an ended session, and logs in again if that fails', async t => {
  const { service, logins, records, bluesky, expire } = await openBluesky(t)
  const send = (id: string) =>
    new ChannelRun().attempt(bluesky, postWith({ text: id }, { publishedAt: `2026-03-0${id}T09:00:00.000Z` }))
  await Promise.all([send('1'), send('2')])
  t.same(logins, ['create'], 'concurrent posts share one login')
  expire()
  await Promise.all([send('3'), send('4')])
  t.same(logins, ['create', 'refresh'])
  expire(true)
  await send('5')
  t.same(logins, ['create', 'refresh', 'refresh', 'create'])
  service.fail(...PUT, { status: 400, body: { error: 'InvalidToken' } })
  await send('6')
  t.same(logins.slice(4), ['refresh'])
  t.equal(records.size, 6)
})

t.test('bluesky knows that a failed login or search for an account created no post', async t => {
  const { service, bluesky } = await openBluesky(t)
  const lookUp = ['GET', '/xrpc/com.atproto.identity.resolveHandle'] as const
  const down = { status: 503, headers: { 'retry-after': '3600' } }
  for (const [method, path] of [['POST', '/xrpc/com.atproto.server.createSession'] as const, lookUp]) {
    service.fail(method, path, down)
    const run = new ChannelRun()
    await t.rejects(run.attempt(bluesky, postWith({ text: 'Hi @ada.example.org' })), {
      code: 'http_503',
      failureClass: 'transient',
      outcomeUnknown: false,
      retryAfterMs: 3_600_000
    })
    t.notOk(run.mayExist)
  }
  t.equal(service.requests(...PUT).length, 0)
})

t.test('bluesky records no exchange of a login', async t => {
  const { bluesky } = await openBluesky(t)
  const run = new ChannelRun()
  await run.attempt(bluesky, postWith({}))
  t.same(
    run.exchanges.map(({ url }) => new URL(url).pathname),
    ['/xrpc/com.atproto.repo.putRecord']
  )
})

t.test('bluesky maps answers of the API to classes', async t => {
  const { service, records, bluesky } = await openBluesky(t)
  const cases: [ServiceAnswer, FailureMatch][] = [
    [
      { status: 400, body: { error: 'InvalidRecord' } },
      { code: 'bluesky_invalidrecord', failureClass: 'fatal' }
    ],
    [
      { status: 400, body: '<html>' },
      { code: 'bluesky_other', failureClass: 'fatal' }
    ],
    [{ status: 403 }, { code: 'http_403', failureClass: 'auth' }],
    [{ status: 404 }, { code: 'http_404', failureClass: 'fatal' }],
    [{ status: 409 }, { code: 'http_409', failureClass: 'fatal' }],
    [{ status: 422 }, { code: 'http_422', failureClass: 'fatal' }],
    [
      { status: 429, headers: { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() } },
      { code: 'http_429', failureClass: 'rate_limit' }
    ],
    [
      { status: 429, headers: { 'retry-after': '90' } },
      { code: 'http_429', failureClass: 'rate_limit', retryAfterMs: 90_000 }
    ],
    [{ status: 502 }, { code: 'http_502', failureClass: 'transient', outcomeUnknown: true }]
  ]
  for (const [answer, failure] of cases) {
    service.fail(...PUT, answer)
    await t.rejects(new ChannelRun().attempt(bluesky, postWith({})), failure, JSON.stringify(answer))
  }
  service.fail(...PUT, { status: 401 }, { status: 401 })
  await t.rejects(new ChannelRun().attempt(bluesky, postWith({})), { code: 'http_401', failureClass: 'auth' })
  service.fail(...PUT, 'silent')
  await t.rejects(new ChannelRun().attempt(bluesky, postWith({}), { silenceMs: 50 }), { code: 'timeout' })
  t.equal(records.size, 0)
})

t.test('bluesky needs an account and its app password', async t => {
  const without = await openChannels(t, { settings: {} })
  t.match(await without.channel('bluesky').problem(), { message: /SVC_SOCIAL_BLUESKY_APP_PASSWORD is not set/ })
  const half = await openChannels(t, { settings: { bluesky_app_password: 'p' } })
  t.match(await half.channel('bluesky').problem(), { message: /SVC_SOCIAL_BLUESKY_HANDLE is not set/ })
  await t.rejects(new ChannelRun().attempt(half.channel('bluesky'), postWith({})), { code: 'account_missing' })
  const { bluesky } = await openBluesky(t, { bluesky_app_password: 'wrong' })
  await t.rejects(new ChannelRun().attempt(bluesky, postWith({})), { code: 'login_refused', failureClass: 'auth' })
})
