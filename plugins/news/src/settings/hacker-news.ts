import { t } from '@svc/plugin-sdk'

export const hackerNews = {
  hn_mode: t.enum(['manual_assist'], {
    default: 'manual_assist',
    'x-env': 'SVC_SOCIAL_HN_MODE',
    description: 'How Hacker News is used: a person submits the link that the channel prepares.'
  })
} as const
