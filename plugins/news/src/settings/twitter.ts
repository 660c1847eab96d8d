import { t } from '@svc/plugin-sdk'
import { channelSecret } from '../credentials/channel-secret.ts'
import { channelAddress, credential } from './channel-address.ts'

export const twitter = {
  twitter_token: credential(
    'SVC_NEWS_TWITTER_TOKEN',
    'User access token of X with the scopes tweet.write, tweet.read and users.read.'
  ),
  twitter_text_chunk_max: t.integer({
    default: 280,
    minimum: 1,
    maximum: 25_000,
    'x-env': 'SVC_NEWS_TWITTER_TEXT_CHUNK_MAX',
    description: 'Maximum weighted characters of a post; only paid accounts may send more than 280.'
  }),
  twitter_truncation_suffix: t.string({
    default: '...',
    maxLength: 20,
    'x-env': 'SVC_NEWS_TWITTER_TRUNCATION_SUFFIX',
    description: 'End of a shortened text; part of its length.'
  }),
  twitter_summary_margin_chars: t.integer({
    default: 20,
    minimum: 0,
    maximum: 10_000,
    'x-env': 'SVC_SOCIAL_TWITTER_SUMMARY_MARGIN_CHARS',
    description: 'Weighted characters that stay free in a text that is derived from the item.'
  }),
  twitter_api_base: channelAddress('https://api.x.com', 'Base address of the API of X.')
} as const

export const twitterSecrets = {
  token: channelSecret('twitter_token', 'SVC_NEWS_TWITTER_TOKEN', { service: 'X', what: 'user access token' })
} as const
