import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isRemoteFailure, type NewsChannel, type NewsPost } from '@svc/contracts'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { ChannelRun, openChannels, postWith } from './channel-run.ts'
import { openForge } from './forge-server.ts'
import { openLinkedIn } from './linkedin-server.ts'
import { openCollective } from './open-collective-server.ts'
import { openReddit } from './reddit-server.ts'
import type { Fault, ServiceServer } from './service-server.ts'
import { CREDENTIALS, openYouTube } from './youtube-server.ts'

interface World {
  readonly service: ServiceServer
  readonly channel: NewsChannel
  readonly post: NewsPost
  /** Entries that the service has. */
  readonly entries: unknown[]
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

const WORLDS = {
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
  { weight: 1, arbitrary: fc.constantFrom<Fault>({ status: 503 }, { status: 429 }, { status: 401 }, { status: 403 }) }
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
