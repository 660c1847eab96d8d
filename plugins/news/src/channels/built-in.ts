import type { NewsChannel } from '@svc/contracts'
import { blueskyChannel } from './bluesky.ts'
import { cratesIoChannel } from './crates-io.ts'
import { discordChannel } from './discord.ts'
import { forgeChannel } from './forge.ts'
import { hackerNewsChannel } from './hacker-news.ts'
import { linkedinChannel } from './linkedin.ts'
import { mastodonChannel } from './mastodon.ts'
import { openCollectiveChannel } from './open-collective.ts'
import type { ChannelFactory, ChannelParts } from './parts.ts'
import { redditChannel } from './reddit.ts'
import { twitterChannel } from './twitter.ts'
import { youtubeChannel } from './youtube.ts'

/** The channels of this plugin. Other plugins contribute theirs to the same point. */
const FACTORIES: readonly ChannelFactory[] = [
  twitterChannel,
  blueskyChannel,
  mastodonChannel,
  discordChannel,
  hackerNewsChannel,
  redditChannel,
  youtubeChannel,
  linkedinChannel,
  forgeChannel,
  openCollectiveChannel,
  cratesIoChannel
]

export function builtInChannels(parts: ChannelParts): readonly NewsChannel[] {
  return FACTORIES.map(create => create(parts))
}
