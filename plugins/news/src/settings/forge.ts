import { channelSecret } from '../credentials/channel-secret.ts'
import { channelAddress, credential } from './channel-address.ts'

export const forge = {
  forge_token: credential(
    'SVC_NEWS_FORGE_TOKEN',
    'Token of GitHub, Forgejo or Gitea that may write releases, issues or comments.'
  ),
  forge_api_base: channelAddress(
    'https://api.github.com',
    'Base address of the REST API; for Forgejo and Gitea HOST/api/v1.'
  )
} as const

export const forgeSecrets = {
  token: channelSecret('forge_token', 'SVC_NEWS_FORGE_TOKEN', {
    id: 'forge.news_token',
    service: 'the forge',
    what: 'token'
  })
} as const
