import type { DeclaredSecret } from '@svc/contracts'
import { forgeSecrets } from '../settings/forge.ts'
import { linkedinSecrets } from '../settings/linkedin.ts'
import { openCollectiveSecrets } from '../settings/open-collective.ts'
import { redditSecrets } from '../settings/reddit.ts'
import { youtubeSecrets } from '../settings/youtube.ts'
import type { ChannelSecret } from './channel-secret.ts'

const SECRETS: readonly Readonly<Record<string, ChannelSecret>>[] = [
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
