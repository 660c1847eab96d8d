import { createHash, randomBytes } from 'node:crypto'
import { appendFileSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ChannelRun, type FailureMatch, openChannels, postWith, requestFixture } from './channel-run.ts'
import type { ServiceAnswer } from './service-server.ts'
import { CREDENTIALS, openYouTube } from './youtube-server.ts'

const UPLOAD = '/upload/youtube/v3/videos'
const CHUNK = 8 * 1_048_576
const LARGE = randomBytes(CHUNK + 1_000)
const VIDEO = LARGE.subarray(0, 1_000)
const SHA3 = createHash('sha3-256').update(VIDEO).digest('hex')

/** Opens a project with the video `media/demo.mp4`, of one chunk by default. */
async function openProject(t: Test, content: Buffer = VIDEO) {
  const server = await openYouTube(t)
  const { kernel, channel } = await openChannels(t, {
    settings: { ...CREDENTIALS, youtube_login_base: server.service.url, youtube_api_base: server.service.url }
  })
  mkdirSync(join(kernel.root, 'media'))
  writeFileSync(join(kernel.root, 'media/demo.mp4'), content)
  return { ...server, kernel, root: kernel.root, youtube: channel('youtube') }
}

const POST = postWith({ video: 'media/demo.mp4', sha3_256: SHA3, tags: ['compilers'] })
const LARGE_POST = postWith({
  video: 'media/demo.mp4',
  sha3_256: createHash('sha3-256').update(LARGE).digest('hex'),
  tags: ['compilers']
})
const LARGE_SHA256 = createHash('sha256').update(LARGE).digest('hex')

t.test('youtube uploads a video in chunks with the documented resource, private by default', async t => {
  const { kernel, service, videos, youtube } = await openProject(t, LARGE)
  const run = new ChannelRun()
  t.same(await run.attempt(youtube, LARGE_POST), {
    externalId: 'video-1',
    url: 'https://www.youtube.com/watch?v=video-1'
  })
  t.match(service.requests('POST', UPLOAD)[0]?.headers, {
    'x-upload-content-length': String(LARGE.length),
    'x-upload-content-type': 'video/mp4'
  })
  t.same(service.requests('POST', UPLOAD)[0]?.json(), requestFixture('youtube-video'))
  t.same(
    service.requests('PUT', UPLOAD).map(({ headers }) => headers['content-range']),
    [`bytes 0-${CHUNK - 1}/${LARGE.length}`, `bytes ${CHUNK}-${LARGE.length - 1}/${LARGE.length}`]
  )
  t.equal(videos[0]?.sha256, LARGE_SHA256)
  t.match(
    run.checkpoints.map(({ sent_bytes, completing }) => [sent_bytes, completing]),
    [
      [0, false],
      [CHUNK, false],
      [CHUNK, true]
    ]
  )
  const progress = kernel.log.filter(({ message }) => message === 'a video is uploaded')
  t.match(progress[0]?.fields, { news: 'release-2', sent_bytes: CHUNK, total_bytes: LARGE.length })
  t.notMatch(JSON.stringify([run.checkpoints, run.exchanges, kernel.log]), /upload_id|session-1|google-|ya29/)
})

for (const [what, faults] of [
  ['before the first chunk arrived', ['cut-before']],
  ['after the first chunk arrived', ['cut-after']],
  ['after the last chunk arrived', [undefined, 'cut-after']]
] as const) {
  t.test(`youtube continues an upload that was cut ${what}`, async t => {
    const { service, sessions, videos, youtube } = await openProject(t, LARGE)
    service.fail('PUT', UPLOAD, ...faults)
    t.match(await new ChannelRun().attempt(youtube, LARGE_POST), { externalId: 'video-1' })
    t.same(
      videos.map(({ sha256 }) => sha256),
      [LARGE_SHA256]
    )
    t.equal(sessions.size, 1)
    t.ok(service.requests('PUT', UPLOAD).some(({ headers }) => headers['content-range'] === `bytes */${LARGE.length}`))
  })
}

t.test('youtube never creates a second video when the process ends at any checkpoint', async t => {
  for (const endsAfter of [0, 1]) {
    const { videos, sessions, youtube } = await openProject(t)
    const run = new ChannelRun()
    run.endsAfter = endsAfter
    await t.rejects(run.attempt(youtube, POST), { message: 'the process ended' })
    run.endsAfter = Number.POSITIVE_INFINITY
    t.match(await run.attempt(youtube, POST), { externalId: 'video-1' })
    t.equal(videos.length, 1)
    t.equal(sessions.size, endsAfter === 0 ? 2 : 1)
  }
})

t.test('youtube asks the session of a finished upload for its video', async t => {
  const { service, videos, youtube } = await openProject(t)
  const cut = Array<'cut-after'>(8).fill('cut-after')
  service.fail('PUT', UPLOAD, ...cut)
  const run = new ChannelRun()
  await t.rejects(run.attempt(youtube, POST), { code: 'network', failureClass: 'transient' })
  service.fail('PUT', UPLOAD)
  t.match(await run.attempt(youtube, POST), { externalId: 'video-1' })
  t.equal(videos.length, 1)
})

t.test('youtube looks for the video by its tag where the session has ended', async t => {
  const { service, sessions, videos, youtube } = await openProject(t)
  service.fail('PUT', UPLOAD, ...Array<'cut-after'>(8).fill('cut-after'))
  const run = new ChannelRun()
  await t.rejects(run.attempt(youtube, POST), { code: 'network' })
  service.fail('PUT', UPLOAD)
  sessions.clear()
  t.match(await run.attempt(youtube, POST), { externalId: 'video-1' })
  const [lost] = videos.splice(0)
  t.ok(lost)
  await t.rejects(run.attempt(youtube, POST), { code: 'outcome_unknown', failureClass: 'fatal' })
  service.fail('GET', '/youtube/v3/channels', { status: 403 })
  await t.rejects(run.attempt(youtube, POST), { code: 'outcome_unknown' })
  run.later()
  t.match(await run.attempt(youtube, POST), { externalId: 'video-1' })
  t.equal(videos.length, 1)
})

t.test('youtube waits from the last bytes of an upload on, not from its first', async t => {
  const { service, sessions, videos, youtube } = await openProject(t, LARGE)
  const run = new ChannelRun()
  run.endsAfter = 2
  await t.rejects(run.attempt(youtube, LARGE_POST), { message: 'the process ended' })
  run.endsAfter = Number.POSITIVE_INFINITY
  run.later()
  service.fail('PUT', UPLOAD, undefined, ...Array<'cut-after'>(8).fill('cut-after'))
  await t.rejects(run.attempt(youtube, LARGE_POST), { code: 'network' })
  service.fail('PUT', UPLOAD)
  sessions.clear()
  videos.length = 0
  await t.rejects(run.attempt(youtube, LARGE_POST), { code: 'outcome_unknown', failureClass: 'fatal' })
  t.equal(videos.length, 0)
})

t.test('youtube leaves the outcome to a person where all of the last uploads are newer', async t => {
  const { service, sessions, videos, youtube } = await openProject(t)
  service.fail('PUT', UPLOAD, ...Array<'cut-after'>(8).fill('cut-after'))
  const run = new ChannelRun()
  await t.rejects(run.attempt(youtube, POST), { code: 'network' })
  service.fail('PUT', UPLOAD)
  sessions.clear()
  const video = { sha256: '', status: {}, snippet: { publishedAt: new Date().toISOString(), tags: [] } }
  videos.splice(0, 1, ...Array.from({ length: 50 }, (_, n) => ({ ...video, id: `other-${n}` })))
  run.later()
  await t.rejects(run.attempt(youtube, POST), { code: 'outcome_unknown', failureClass: 'fatal' })
  videos.splice(49, 1, { ...video, id: 'old', snippet: { publishedAt: '2020-01-01T00:00:00Z', tags: [] } })
  t.match(await run.attempt(youtube, POST), { externalId: 'video-51' })
})

t.test('youtube leaves the outcome open if the server refuses questions after the last bytes', async t => {
  const { service, videos, youtube } = await openProject(t)
  const quota: ServiceAnswer = { status: 403, body: { error: { errors: [{ reason: 'quotaExceeded' }] } } }
  service.fail('PUT', UPLOAD, 'cut-after', quota)
  const run = new ChannelRun()
  const failure = {
    code: 'youtube_quota_exceeded',
    failureClass: 'rate_limit',
    outcomeUnknown: true,
    retryAfterMs: 3_600_000
  }
  await t.rejects(run.attempt(youtube, POST), failure)
  service.fail('PUT', UPLOAD, quota)
  await t.rejects(new ChannelRun().attempt(youtube, POST), { ...failure, outcomeUnknown: false })
  t.match(await run.attempt(youtube, POST), { externalId: 'video-1' })
  t.equal(videos.length, 1)
})

t.test('youtube begins again where a session ended before its last bytes', async t => {
  const { service, sessions, videos, youtube } = await openProject(t)
  service.fail('PUT', UPLOAD, { status: 404 })
  const run = new ChannelRun()
  await t.rejects(run.attempt(youtube, POST), { code: 'upload_ended', failureClass: 'transient' })
  sessions.clear()
  await run.attempt(youtube, POST)
  t.equal(videos.length, 1)
})

t.test('youtube looks for the video where a session ends right after its last bytes', async t => {
  for (const resumed of [false, true]) {
    const { service, sessions, videos, youtube } = await openProject(t)
    const run = new ChannelRun()
    if (resumed) {
      run.endsAfter = 1
      await t.rejects(run.attempt(youtube, POST), { message: 'the process ended' })
      run.endsAfter = Number.POSITIVE_INFINITY
    }
    service.fail('PUT', UPLOAD, ...(resumed ? [undefined] : []), 'cut-after', { status: 404 })
    if (!resumed) {
      await t.rejects(run.attempt(youtube, POST), { code: 'upload_ended', failureClass: 'transient' })
      sessions.clear()
    }
    t.match(await run.attempt(youtube, POST), { externalId: 'video-1' })
    t.equal(videos.length, 1)
    t.equal(service.requests('POST', UPLOAD).length, 1)
  }
})

t.test('youtube sends only the content that was approved', async t => {
  const { service, root, videos, youtube } = await openProject(t)
  writeFileSync(join(root, 'empty.mp4'), '')
  symlinkSync('/etc/hostname', join(root, 'link.mp4'))
  const attempt = (options: object) => new ChannelRun().attempt(youtube, postWith(options))
  await t.rejects(attempt({ video: 'media/demo.mp4', sha3_256: 'a'.repeat(64) }), { code: 'video_changed' })
  await t.rejects(attempt({ video: 'nothing.mp4', sha3_256: SHA3 }), { code: 'video_missing' })
  await t.rejects(attempt({ video: 'empty.mp4', sha3_256: SHA3 }), { code: 'video_invalid' })
  await t.rejects(attempt({ video: 'link.mp4', sha3_256: SHA3 }), { code: 'video_outside' })
  await t.rejects(attempt({ video: '../x', sha3_256: SHA3 }), { code: /video_(?:missing|outside)/ })
  await t.rejects(attempt({ video: 'media', sha3_256: SHA3 }), { code: 'video_invalid' })
  t.equal(service.seen.length, 0)
  const run = new ChannelRun()
  run.endsAfter = 1
  await t.rejects(run.attempt(youtube, POST), { message: 'the process ended' })
  appendFileSync(join(root, 'media/demo.mp4'), 'more')
  run.endsAfter = Number.POSITIVE_INFINITY
  await t.rejects(run.attempt(youtube, POST), { code: 'video_changed', failureClass: 'fatal' })
  t.equal(videos.length, 0)
})

t.test('youtube maps answers of the API to classes', async t => {
  const { service, videos, youtube } = await openProject(t)
  const refused = (status: number, reason: string): ServiceAnswer => ({
    status,
    body: { error: { code: status, errors: [{ domain: 'youtube.quota', reason }] } }
  })
  const cases: [ServiceAnswer, FailureMatch][] = [
    [
      refused(403, 'quotaExceeded'),
      { code: 'youtube_quota_exceeded', failureClass: 'rate_limit', retryAfterMs: 3_600_000 }
    ],
    [refused(400, 'uploadLimitExceeded'), { code: 'youtube_upload_limit_exceeded', failureClass: 'rate_limit' }],
    [refused(403, 'insufficientPermissions'), { code: 'youtube_insufficient_permissions', failureClass: 'auth' }],
    [refused(400, 'invalidTitle'), { code: 'youtube_invalid_title', failureClass: 'fatal' }],
    [
      { status: 403, body: '<html>' },
      { code: 'http_403', failureClass: 'auth' }
    ],
    [{ status: 404 }, { code: 'http_404', failureClass: 'fatal' }],
    [{ status: 409 }, { code: 'http_409', failureClass: 'fatal' }],
    [{ status: 422 }, { code: 'http_422', failureClass: 'fatal' }],
    [
      { status: 429, headers: { 'retry-after': '9' } },
      { code: 'http_429', failureClass: 'rate_limit', retryAfterMs: 9_000 }
    ],
    [{ status: 503 }, { code: 'http_503', failureClass: 'transient' }],
    [{ headers: { location: 'https://elsewhere.example/upload' } }, { code: 'answer_invalid', failureClass: 'fatal' }]
  ]
  for (const [answer, failure] of cases) {
    service.fail('POST', UPLOAD, answer)
    await t.rejects(new ChannelRun().attempt(youtube, POST), failure, JSON.stringify(answer))
  }
  service.fail('PUT', UPLOAD, { status: 308, headers: { range: 'bytes=0-999999999999' } })
  await t.rejects(new ChannelRun().attempt(youtube, POST), { code: 'answer_invalid', failureClass: 'fatal' })
  service.fail('PUT', UPLOAD, ...Array(8).fill({ status: 308 }))
  await t.rejects(new ChannelRun().attempt(youtube, POST), { code: 'upload_stalled', failureClass: 'transient' })
  t.equal(videos.length, 0)
})

t.test('youtube cannot use a checkpoint with another refresh token', async t => {
  const { service, videos, root, youtube } = await openProject(t)
  const run = new ChannelRun()
  run.endsAfter = 1
  await t.rejects(run.attempt(youtube, POST), { message: 'the process ended' })
  const other = { ...CREDENTIALS, youtube_refresh_token: 'google-refresh-2' }
  const { kernel, channel } = await openChannels(t, {
    settings: { ...other, youtube_login_base: service.url, youtube_api_base: service.url }
  })
  mkdirSync(join(kernel.root, 'media'))
  writeFileSync(join(kernel.root, 'media/demo.mp4'), VIDEO)
  run.endsAfter = Number.POSITIVE_INFINITY
  await t.rejects(run.attempt(channel('youtube'), POST), { code: 'oauth_refused', failureClass: 'auth' })
  t.ok(root)
  t.match(await run.attempt(youtube, POST), { externalId: 'video-1' })
  t.equal(videos.length, 1)
})

t.test('youtube treats a checkpoint that it cannot decrypt as an upload that has ended', async t => {
  for (const session of ['', 'AAAA', Buffer.alloc(100).toString('base64')]) {
    const { videos, youtube } = await openProject(t)
    const run = new ChannelRun()
    run.checkpoint = { session, sent_bytes: 0, completing: false, sent_at_ms: Date.now() }
    t.match(await run.attempt(youtube, POST), { externalId: 'video-1' })
    if (session === '') continue
    run.checkpoint = { session, sent_bytes: CHUNK, completing: true, sent_at_ms: Date.now() }
    t.match(await run.attempt(youtube, POST), { externalId: 'video-1' })
    t.equal(videos.length, 1)
  }
})

t.test('youtube sends smaller chunks after a failure', async t => {
  const { service, videos, youtube } = await openProject(t, LARGE)
  service.fail('PUT', UPLOAD, 'cut-before', undefined, 'cut-before')
  await new ChannelRun().attempt(youtube, LARGE_POST)
  t.equal(videos[0]?.sha256, LARGE_SHA256)
  const sizes = service.requests('PUT', UPLOAD).map(({ bytes }) => bytes.length)
  t.same(sizes, [CHUNK, 0, CHUNK / 2, 0, CHUNK / 4, CHUNK / 4, CHUNK / 4, CHUNK / 4, 1_000])
})

t.test('youtube waits for the answer of a server that has all bytes', async t => {
  const { service, videos, youtube } = await openProject(t)
  const all: ServiceAnswer = { status: 308, headers: { range: `bytes=0-${VIDEO.length - 1}` } }
  service.fail('PUT', UPLOAD, 'cut-after', all, all)
  t.match(await new ChannelRun().attempt(youtube, POST), { externalId: 'video-1' })
  service.fail('PUT', UPLOAD, ...Array<ServiceAnswer>(8).fill(all))
  const run = new ChannelRun()
  await t.rejects(run.attempt(youtube, POST), { code: 'upload_stalled', outcomeUnknown: true })
  t.equal(run.checkpoint?.completing, true)
  t.equal(videos.length, 1)
})

t.test('youtube takes the category from the item, else from the setting', async t => {
  const { service, root } = await openProject(t)
  const { kernel, channel } = await openChannels(t, {
    settings: {
      ...CREDENTIALS,
      youtube_login_base: service.url,
      youtube_api_base: service.url,
      video_default_category_id: 27
    }
  })
  mkdirSync(join(kernel.root, 'media'))
  copyFileSync(join(root, 'media/demo.mp4'), join(kernel.root, 'media/demo.mp4'))
  for (const more of [{}, { category_id: 22, privacy: 'unlisted', notify_subscribers: true }]) {
    const post = postWith({ video: 'media/demo.mp4', sha3_256: SHA3, ...more })
    await new ChannelRun().attempt(channel('youtube'), post)
  }
  const [first, second] = service.requests('POST', UPLOAD)
  t.match(first?.json(), { snippet: { categoryId: '27' }, status: { privacyStatus: 'private' } })
  t.match(second?.json(), { snippet: { categoryId: '22' }, status: { privacyStatus: 'unlisted' } })
  t.same(
    [first, second].map(each => each?.query.get('notifySubscribers')),
    ['false', 'true']
  )
})

t.test('youtube previews titles of 100 characters and descriptions of 5,000 bytes without angle brackets', async t => {
  const { youtube } = await openProject(t)
  const options = { video: 'a.mp4', sha3_256: SHA3 }
  const post = postWith(options, { title: 'A <long> title 🚀 '.repeat(20), summary: 'Größe <x> '.repeat(900) })
  const [title, description] = await youtube.preview(post)
  t.match(title, { limit: 100, unit: 'characters' })
  t.match(description, { limit: 5_000, unit: 'bytes' })
  t.ok((title?.length ?? 0) <= 100 && (description?.length ?? 0) <= 5_000)
  t.equal(Buffer.byteLength(description?.text ?? ''), description?.length)
  t.notMatch(`${title?.text}${description?.text}`, /[<>]/)
  t.ok(description?.text.endsWith('\n\nhttps://example.org/news/release-2.html'))
})
