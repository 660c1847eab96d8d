import { t } from '@svc/plugin-sdk'
import { channelSecret } from '../credentials/channel-secret.ts'
import { channelAddress, credential } from './channel-address.ts'

export const bluesky = {
  bluesky_handle: t.optional(
    t.string({
      pattern: '^(?:did:[a-z]+:[A-Za-z0-9._:%-]{1,200}|[A-Za-z0-9-]{1,63}(?:\\.[A-Za-z0-9-]{1,63})+)$',
      'x-env': 'SVC_SOCIAL_BLUESKY_HANDLE',
      description: 'Handle or DID of the account, such as example.bsky.social.'
    })
  ),
  bluesky_app_password: credential(
    'SVC_SOCIAL_BLUESKY_APP_PASSWORD',
    'App password of the account; not the password of the account itself.'
  ),
  bluesky_service: channelAddress(
    'https://bsky.social',
    'Address of the server that has the account.',
    'SVC_SOCIAL_BLUESKY_SERVICE'
  )
} as const

export const blueskySecrets = {
  appPassword: channelSecret('bluesky_app_password', 'SVC_SOCIAL_BLUESKY_APP_PASSWORD', {
    service: 'Bluesky',
    what: 'app password',
    material: 'password'
  })
} as const
