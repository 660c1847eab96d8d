import { channelSecret } from '../credentials/channel-secret.ts'
import { credential } from './channel-address.ts'

export const discord = {
  discord_webhook: credential(
    'SVC_SOCIAL_DISCORD_WEBHOOK',
    'Address of the webhook. Anyone who has it can post in the channel.'
  )
} as const

export const discordSecrets = {
  webhook: channelSecret('discord_webhook', 'SVC_SOCIAL_DISCORD_WEBHOOK', {
    service: 'Discord',
    what: 'address of the webhook',
    material: 'url'
  })
} as const
