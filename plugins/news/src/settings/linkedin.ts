import { t } from '@svc/plugin-sdk'
import { channelSecret } from '../credentials/channel-secret.ts'
import { channelAddress, credential } from './channel-address.ts'

export const linkedin = {
  linkedin_access_token: credential(
    'SVC_SOCIAL_LINKEDIN_ACCESS_TOKEN',
    'Access token with the scope w_member_social or w_organization_social.'
  ),
  linkedin_author_urn: t.optional(
    t.string({
      pattern: '^urn:li:(?:person|organization):[A-Za-z0-9_-]{1,100}$',
      'x-env': 'SVC_SOCIAL_LINKEDIN_AUTHOR_URN',
      description: 'Author of the posts, such as urn:li:organization:5515715.'
    })
  ),
  linkedin_version: t.string({
    default: '202606',
    pattern: '^20\\d{2}(?:0[1-9]|1[0-2])$',
    'x-env': 'SVC_SOCIAL_LINKEDIN_VERSION',
    description: 'Version of the API as YYYYMM. LinkedIn ends each version after about a year.'
  }),
  linkedin_api_base: channelAddress(
    'https://api.linkedin.com',
    'Base address of the API of LinkedIn.',
    'SVC_SOCIAL_LINKEDIN_API_BASE'
  )
} as const

export const linkedinSecrets = {
  accessToken: channelSecret('linkedin_access_token', 'SVC_SOCIAL_LINKEDIN_ACCESS_TOKEN', {
    id: 'linkedin.access_token',
    service: 'LinkedIn',
    what: 'access token'
  })
} as const
