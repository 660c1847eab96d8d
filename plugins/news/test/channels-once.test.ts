import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isRemoteFailure, type NewsChannel, type NewsPost } from '@svc/contracts'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { openBluesky } from './bluesky-server.ts'
import { ChannelRun, openChannels, postWith } from './channel-run.ts'
import { openDiscord } from './discord-server.ts'
import { openForge } from './forge-server.ts'
import { openLinkedIn } from './linkedin-server.ts'
import { openMastodon } from './mastodon-server.ts'
import { openCollective } from './open-collective-server.ts'
import { openReddit } from './reddit-server.ts'
import type { Fault, ServiceServer } from './service-server.ts'
import { openTwitter } from './twitter-server.ts'
import { CREDENTIALS, openYouTube } from './youtube-server.ts'

interface World {
  readonly service: ServiceServer
  readonly channel: NewsChannel
  readonly post: NewsPost
  /** Entries that the service has. Setting the length to 0 removes them. */
  readonly entries: { length: number }
}

async function reddit(t: Test): Promise<World> {
  const { service, posts, reddit: channel } = await openReddit(t)
  return { service, channel, entries: posts, post: postWith({ subreddit: 'programming' }) }
}

async function linkedin(t: Test): Promise<World> {
  const { service, posts, linkedin: channel } = await openLinkedIn(t)
  return { service, channel, entries: posts, post: postWith({}) }
}

const forge =
  (target: 'releases' | 'issues' | 'comments', options: object) =>
  async (t: Test): Promise<World> => {
    const { forge: channel, service, ...lists } = await openForge(t)
    return { service, channel, entries: lists[target], post: postWith({ repository: 'acme/tool', ...options }) }
  }

async function openCollectiveWorld(t: Test): Promise<World> {
  const { service, updates, collective: channel } = await openCollective(t)
  return { service, channel, entries: updates, post: postWith({}) }
}

async function youtube(t: Test): Promise<World> {
  const { service, videos } = await openYouTube(t)
  const { kernel, channel } = await openChannels(t, {
    settings: { ...CREDENTIALS, youtube_login_base: service.url, youtube_api_base: service.url }
  })
  const video = randomBytes(1_000)
  writeFileSync(join(kernel.root, 'demo.mp4'), video)
  const sha3_256 = createHash('sha3-256').update(video).digest('hex')
  return { service, channel: channel('youtube'), entries: videos, post: postWith({ video: 'demo.mp4', sha3_256 }) }
}

const twitter =
  (options: object, body = '') =>
  async (t: Test): Promise<World> => {
    const { twitter: channel, service, tweets } = await openTwitter(t)
    const post = postWith(options, { body })
    const texts = (await channel.preview(post)).map(({ text }) => text)
    // Each part of a thread is there once, or the thread is not complete.
    const complete = () => new Set(tweets.map(({ replyTo }) => replyTo)).size === texts.length
    const entries = {
      get length() {
        return tweets.length > texts.length ? 2 : tweets.length === texts.length && complete() ? 1 : 0
      },
      set length(_: number) {
        tweets.length = 0
      }
    }
    return { service, channel, post, entries }
  }

async function bluesky(t: Test): Promise<World> {
  const { bluesky: channel, service, records } = await openBluesky(t)
  const entries = {
    get length() {
      return records.size
    },
    set length(_: number) {
      records.clear()
    }
  }
  return { service, channel, entries, post: postWith({}) }
}

async function mastodon(t: Test): Promise<World> {
  const { mastodon: channel, service, statuses, keys } = await openMastodon(t)
  const entries = {
    get length() {
      return statuses.length
    },
    set length(_: number) {
      statuses.length = 0
      keys.clear()
    }
  }
  return { service, channel, entries, post: postWith({}) }
}

async function discord(t: Test): Promise<World> {
  const { discord: channel, service, messages } = await openDiscord(t)
  return { service, channel, entries: messages, post: postWith({}) }
}

const WORLDS = {
  twitter: twitter({}),
  'twitter, thread': twitter({ thread: true }, 'All checks are fast. '.repeat(30)),
  bluesky,
  mastodon,
  discord,
  reddit,
  linkedin,
  'forge, releases': forge('releases', { target: 'release', tag: 'v2' }),
  'forge, issues': forge('issues', { target: 'issue' }),
  'forge, comments': forge('comments', { target: 'comment', issue: 7 }),
  open_collective: openCollectiveWorld,
  youtube
}

const fault: fc.Arbitrary<Fault | undefined> = fc.oneof(
  { weight: 4, arbitrary: fc.constant(undefined) },
  { weight: 2, arbitrary: fc.constant<Fault>('cut-before') },
  { weight: 3, arbitrary: fc.constant<Fault>('cut-after') },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Fault>(
      { status: 503 },
      { status: 429 },
      { status: 401 },
      { status: 403 },
      { status: 404 }
    )
  }
)

const story = fc.record({
  faults: fc.array(fault, { maxLength: 12 }),
  /** Checkpoints that each process saves before it ends. */
  ends: fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 4 })
})

for (const [name, open] of Object.entries(WORLDS)) {
  t.test(`${name}: a post is created once, with any failures and any ends of processes`, async t => {
    const { service, channel, post, entries } = await open(t)
    await fc.assert(
      fc.asyncProperty(story, async ({ faults, ends }) => {
        entries.length = 0
        service.failNext(...faults)
        const outcome = await sendUntilKnown(channel, post, ends)
        service.failNext()
        if (outcome === 'created') return entries.length === 1
        // A person decides: the post may exist, and there are not two.
        return outcome === 'unknown' && entries.length <= 1
      }),
      { numRuns: name === 'youtube' ? 8 : 20 }
    )
  })
}

async function sendUntilKnown(channel: NewsChannel, post: NewsPost, ends: readonly number[]): Promise<string> {
  const run = new ChannelRun()
  for (let process = 0; process < 40; process++) {
    const saves = ends[process]
    run.endsAfter = saves === undefined ? Number.POSITIVE_INFINITY : run.checkpoints.length + saves
    try {
      await run.attempt(channel, post)
      return 'created'
    } catch (error) {
      if (isRemoteFailure(error) && error.code === 'outcome_unknown') return 'unknown'
      run.later()
    }
  }
  return 'never'
}
