import type { NewsChannel } from '@svc/contracts'
import { cratesIoChannel } from './crates-io.ts'
import { forgeChannel } from './forge.ts'
import { linkedinChannel } from './linkedin.ts'
import { openCollectiveChannel } from './open-collective.ts'
import type { ChannelFactory, ChannelParts } from './parts.ts'
import { redditChannel } from './reddit.ts'
import { youtubeChannel } from './youtube.ts'

/** The channels of this plugin. Other plugins contribute theirs to the same point. */
const FACTORIES: readonly ChannelFactory[] = [
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
