import { t } from '@svc/plugin-sdk'
import { channelSecret } from '../credentials/channel-secret.ts'
import { channelAddress, credential } from './channel-address.ts'

export const reddit = {
  reddit_client_id: credential('SVC_SOCIAL_REDDIT_CLIENT_ID', 'Client id of the Reddit application.'),
  reddit_client_secret: credential('SVC_SOCIAL_REDDIT_CLIENT_SECRET', 'Client secret of the Reddit application.'),
  reddit_refresh_token: credential(
    'SVC_SOCIAL_REDDIT_REFRESH_TOKEN',
    'Refresh token of the account, with the scopes identity, submit and history.'
  ),
  reddit_user_agent: credential(
    'SVC_SOCIAL_REDDIT_USER_AGENT',
    'User agent that Reddit requires, such as linux:org.example.news:v1 (by /u/NAME).'
  ),
  reddit_selfpost_summary_max: t.integer({
    default: 700,
    minimum: 1,
    maximum: 40_000,
    'x-env': 'SVC_SOCIAL_SELFPOST_SUMMARY_MAX',
    description: 'Maximum characters of the text that is derived for a text post, link included.'
  }),
  reddit_login_base: channelAddress('https://www.reddit.com', 'Base address of the login at Reddit.'),
  reddit_api_base: channelAddress('https://oauth.reddit.com', 'Base address of the API of Reddit.')
} as const

const secret = (name: string, env: string, what: string, material: 'client_id' | 'password' | 'token' | 'user_agent') =>
  channelSecret(`reddit_${name}`, env, { id: `reddit.${name}`, service: 'Reddit', what, material, backendOnly: true })

export const redditSecrets = {
  clientId: secret('client_id', 'SVC_SOCIAL_REDDIT_CLIENT_ID', 'client id', 'client_id'),
  clientSecret: secret('client_secret', 'SVC_SOCIAL_REDDIT_CLIENT_SECRET', 'client secret', 'password'),
  refreshToken: secret('refresh_token', 'SVC_SOCIAL_REDDIT_REFRESH_TOKEN', 'refresh token', 'token'),
  userAgent: secret('user_agent', 'SVC_SOCIAL_REDDIT_USER_AGENT', 'user agent', 'user_agent')
} as const
