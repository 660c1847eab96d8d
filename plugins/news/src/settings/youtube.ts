import { t } from '@svc/plugin-sdk'
import { channelSecret } from '../credentials/channel-secret.ts'
import { channelAddress, credential } from './channel-address.ts'

export const youtube = {
  youtube_client_id: credential('SVC_SOCIAL_YOUTUBE_CLIENT_ID', 'Client id of the Google application.'),
  youtube_client_secret: credential('SVC_SOCIAL_YOUTUBE_CLIENT_SECRET', 'Client secret of the Google application.'),
  youtube_refresh_token: credential(
    'SVC_SOCIAL_YOUTUBE_REFRESH_TOKEN',
    'Refresh token of the channel, with the scopes youtube.upload and youtube.readonly.'
  ),
  video_default_category_id: t.integer({
    default: 28,
    minimum: 1,
    maximum: 999,
    'x-env': 'SVC_SOCIAL_VIDEO_DEFAULT_CATEGORY_ID',
    description: 'Category of videos whose item names none; 28 is Science & Technology.'
  }),
  youtube_login_base: channelAddress('https://oauth2.googleapis.com', 'Base address of the login at Google.'),
  youtube_api_base: channelAddress('https://www.googleapis.com', 'Base address of the API and of uploads of YouTube.')
} as const

const secret = (name: string, env: string, what: string, material: 'client_id' | 'password' | 'token') =>
  channelSecret(`youtube_${name}`, env, {
    id: `youtube.${name}`,
    service: 'YouTube',
    what,
    material
  })

export const youtubeSecrets = {
  clientId: secret('client_id', 'SVC_SOCIAL_YOUTUBE_CLIENT_ID', 'client id', 'client_id'),
  clientSecret: secret('client_secret', 'SVC_SOCIAL_YOUTUBE_CLIENT_SECRET', 'client secret', 'password'),
  refreshToken: secret('refresh_token', 'SVC_SOCIAL_YOUTUBE_REFRESH_TOKEN', 'refresh token', 'token')
} as const
