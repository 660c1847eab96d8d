import { t } from '@svc/plugin-sdk'
import { channelSecret } from '../credentials/channel-secret.ts'
import { channelAddress, credential } from './channel-address.ts'

export const openCollective = {
  open_collective_token: credential(
    'SVC_NEWS_OPENCOLLECTIVE_TOKEN',
    'Personal token of Open Collective with the scope updates.'
  ),
  open_collective_slug: t.optional(
    t.string({
      pattern: '^[a-z0-9][a-z0-9_-]{0,254}$',
      'x-env': 'SVC_NEWS_OPENCOLLECTIVE_SLUG',
      description: 'Slug of the collective, as in opencollective.com/SLUG.'
    })
  ),
  open_collective_api_base: channelAddress(
    'https://api.opencollective.com',
    'Base address of the API of Open Collective.'
  )
} as const

export const openCollectiveSecrets = {
  token: channelSecret('open_collective_token', 'SVC_NEWS_OPENCOLLECTIVE_TOKEN', {
    id: 'open_collective.token',
    service: 'Open Collective',
    what: 'personal token'
  })
} as const
