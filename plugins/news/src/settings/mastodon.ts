import { t } from '@svc/plugin-sdk'
import { channelSecret } from '../credentials/channel-secret.ts'
import { credential } from './channel-address.ts'

export const MASTODON_VISIBILITIES = ['public', 'unlisted', 'private', 'direct'] as const

export const mastodon = {
  mastodon_base_url: t.optional(
    t.string({
      pattern: '^https?://[^\\s?#]+$',
      'x-env': 'SVC_SOCIAL_MASTODON_BASE_URL',
      description: 'Address of the server that has the account. HTTPS, or HTTP on this machine.'
    })
  ),
  mastodon_access_token: credential(
    'SVC_SOCIAL_MASTODON_ACCESS_TOKEN',
    'Access token with the scopes write:statuses, read:accounts and read:statuses.'
  ),
  mastodon_visibility: t.enum(MASTODON_VISIBILITIES, {
    default: 'public',
    'x-env': 'SVC_SOCIAL_MASTODON_VISIBILITY',
    description: 'Visibility of posts whose item names none.'
  }),
  mastodon_max_characters: t.integer({
    default: 500,
    minimum: 50,
    maximum: 100_000,
    description: 'Maximum characters of a post; the server states it at /api/v2/instance.'
  })
} as const

export const mastodonSecrets = {
  accessToken: channelSecret('mastodon_access_token', 'SVC_SOCIAL_MASTODON_ACCESS_TOKEN', {
    service: 'Mastodon',
    what: 'access token'
  })
} as const
