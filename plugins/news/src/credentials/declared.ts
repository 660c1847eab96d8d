import type { DeclaredSecret } from '@svc/contracts'
import { blueskySecrets } from '../settings/bluesky.ts'
import { discordSecrets } from '../settings/discord.ts'
import { forgeSecrets } from '../settings/forge.ts'
import { linkedinSecrets } from '../settings/linkedin.ts'
import { mastodonSecrets } from '../settings/mastodon.ts'
import { openCollectiveSecrets } from '../settings/open-collective.ts'
import { redditSecrets } from '../settings/reddit.ts'
import { twitterSecrets } from '../settings/twitter.ts'
import { youtubeSecrets } from '../settings/youtube.ts'
import type { ChannelSecret } from './channel-secret.ts'

const SECRETS: readonly Readonly<Record<string, ChannelSecret>>[] = [
  twitterSecrets,
  blueskySecrets,
  mastodonSecrets,
  discordSecrets,
  redditSecrets,
  youtubeSecrets,
  linkedinSecrets,
  forgeSecrets,
  openCollectiveSecrets
]

/** Credentials of all channels, for `svc secrets` and the resolver. */
export const DECLARED_CREDENTIALS: readonly DeclaredSecret[] = SECRETS.flatMap(group =>
  Object.values(group).map(({ declared }) => declared)
)
