import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { newsPreview, newsPublish, newsScan, newsStatus } from '#root'
import { openNews } from './kit.ts'
import { openService, type SeenRequest, type ServiceAnswer } from './service-server.ts'

/** Credentials of all channels, and the tokens that services issue. */
const KNOWN = {
  twitter_token: 'known-x-token',
  bluesky_app_password: 'known-bluesky-password',
  mastodon_access_token: 'known-mastodon-token',
  reddit_client_id: 'known-reddit-client',
  reddit_client_secret: 'known-reddit-secret',
  reddit_refresh_token: 'known-reddit-refresh',
  reddit_user_agent: 'linux:known-reddit-agent:v1 (by /u/ada)',
  youtube_client_id: 'known-google-client',
  youtube_client_secret: 'known-google-secret',
  youtube_refresh_token: 'known-google-refresh',
  linkedin_access_token: 'known-linkedin-access',
  forge_token: 'known-forge-token',
  open_collective_token: 'known-collective-token'
}
const WEBHOOK = 'known-discord-webhook-token'
const ISSUED = [
  'known-issued-access-jwt',
  'known-issued-refresh-jwt',
  'known-issued-reddit',
  'known-issued-google',
  'known-upload-session'
]
const VIDEO = 'a video of a few bytes'

/** Answers each request of the channels as its service does. */
function answerTo({ method, path, body }: SeenRequest, base: string): ServiceAnswer | undefined {
  if (path === '/api/v1/access_token') return { body: { access_token: 'known-issued-reddit', expires_in: 3_600 } }
  if (path === '/token') return { body: { access_token: 'known-issued-google', expires_in: 3_600 } }
  if (path === '/xrpc/com.atproto.server.createSession')
    return { body: { did: 'did:plc:1', accessJwt: ISSUED[0], refreshJwt: ISSUED[1] } }
  if (path === '/xrpc/com.atproto.repo.putRecord') return { body: { uri: 'at://1', cid: 'b' } }
  if (path === '/2/tweets') return { status: 201, body: { data: { id: '1' } } }
  if (path === '/api/v1/statuses') return { body: { id: '1', url: 'https://mastodon.example/1' } }
  if (path === `/api/webhooks/12345/${WEBHOOK}`) return { body: { id: '1234567' } }
  if (path === '/api/submit')
    return { body: { json: { errors: [], data: { name: 't3_1', url: 'https://reddit.com/1' } } } }
  if (path === '/upload/youtube/v3/videos' && method === 'POST')
    return { headers: { location: `${base}${path}?upload_id=known-upload-session` } }
  if (path === '/upload/youtube/v3/videos') return { body: { id: 'video-1' } }
  if (path === '/rest/posts') return { status: 201, headers: { 'x-restli-id': 'urn:li:share:1' } }
  if (path === '/repos/acme/tool/issues') return { status: 201, body: { id: 1, html_url: 'https://github.com/1' } }
  if (path === '/api/v1/crates/tool/2.0.0') return { body: { version: { num: '2.0.0', yanked: false } } }
  if (path !== '/graphql/v2') return undefined
  const update = {
    id: 'update-1',
    slug: 'first',
    publishedAt: body.includes('mutation') ? '2026-03-01T10:00:00Z' : null
  }
  return { body: { data: { createUpdate: update, publishUpdate: update, update } } }
}

async function openWorld(t: Test, serve: (request: SeenRequest, base: string) => ServiceAnswer | undefined) {
  const service = await openService(t, request => serve(request, service.url))
  const bases = [
    'twitter_api',
    'reddit_login',
    'reddit_api',
    'youtube_login',
    'youtube_api',
    'linkedin_api',
    'forge_api',
    'crates_io_api'
  ]
  const news = await openNews(t, {
    settings: {
      ...KNOWN,
      ...Object.fromEntries([...bases, 'open_collective_api'].map(name => [`${name}_base`, service.url])),
      bluesky_service: service.url,
      bluesky_handle: 'news.example.org',
      mastodon_base_url: service.url,
      discord_webhook: `${service.url}/api/webhooks/12345/${WEBHOOK}`,
      linkedin_author_urn: 'urn:li:organization:1',
      open_collective_slug: 'acme'
    }
  })
  const video = join(news.kernel.root, 'media/demo.mp4')
  mkdirSync(dirname(video))
  writeFileSync(video, VIDEO)
  const sha3_256 = createHash('sha3-256').update(VIDEO).digest('hex')
  await news.approved({
    id: 'first',
    more: [
      'syndication:',
      '  twitter: true',
      '  bluesky: true',
      '  mastodon: true',
      '  discord: true',
      '  reddit: { subreddit: programming }',
      `  youtube: { video: media/demo.mp4, sha3_256: "${sha3_256}" }`,
      '  linkedin: true',
      '  github: { repository: acme/tool, target: issue }',
      '  open_collective: true',
      '  crates_io: { crate: tool, version: 2.0.0 }'
    ].join('\n')
  })
  return { service, news }
}

/** Returns everything that a run wrote: files of the project with the database, the log, and answers of operations. */
async function everythingWritten(news: Awaited<ReturnType<typeof openNews>>, answers: readonly unknown[]) {
  const { root } = news.kernel
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter(each => each.isFile())
  const contents = files.map(each => readFileSync(join(each.parentPath, each.name)).toString('latin1'))
  const read = [
    await news.kernel.call(newsScan, {}),
    await news.kernel.call(newsStatus, {}),
    await news.kernel.call(newsPreview, { id: 'first' }),
    await news.kernel.callById('publication.show', { publication_id: 'first' }),
    ...(await Promise.all(
      ['news.items', 'news.inbox', 'publication.list', 'publication.inbox'].map(id => news.kernel.callById(id, {}))
    ))
  ]
  for (const name of ['test.db', 'feed.xml']) t.ok(files.some(each => each.name === name))
  return [...contents, JSON.stringify([answers, read, news.kernel.log])].join('\n')
}

function findKnown(text: string): string[] {
  const letters = (value: string): string => value.toLowerCase().replace(/[^a-z0-9]/g, '')
  const written = letters(text)
  const forms = (value: string) => [value, Buffer.from(value).toString('base64')].map(letters)
  return [...Object.values(KNOWN), WEBHOOK, ...ISSUED].filter(value =>
    forms(value).some(each => written.includes(each))
  )
}

t.test('nothing that a run of all channels writes contains a credential', async t => {
  const { service, news } = await openWorld(t, answerTo)
  const published = await news.kernel.call(newsPublish, { id: 'first', dry_run: false })
  t.same(
    published.channels.map(({ channel, outcome }) => [channel, outcome]).sort(),
    [
      'bluesky',
      'crates_io',
      'discord',
      'forge',
      'linkedin',
      'mastodon',
      'open_collective',
      'reddit',
      'rss',
      'twitter',
      'youtube'
    ].map(name => [name, 'Success'])
  )
  const sent = JSON.stringify(service.seen)
  t.ok(sent.includes('known-forge-token') && sent.includes('known-issued-google'))
  t.same(findKnown(await everythingWritten(news, [published])), [])
})

t.test('nothing that a run of failing channels writes contains a credential, also if a service repeats it', async t => {
  const echo = (request: SeenRequest): ServiceAnswer => ({
    status: request.path.startsWith('/rest') ? 422 : 403,
    headers: { 'x-echo': request.headers.authorization ?? 'none' },
    body: { message: JSON.stringify([request.headers, request.body]), code: request.headers.authorization }
  })
  const { news } = await openWorld(t, echo)
  const published = await news.kernel.call(newsPublish, { id: 'first', dry_run: false })
  t.ok(published.channels.every(({ channel, outcome }) => channel === 'rss' || outcome === 'Failed'))
  t.same(findKnown(await everythingWritten(news, [published])), [])
})
