import { type Infer, t } from '@svc/plugin-sdk'
import { bluesky } from './settings/bluesky.ts'
import { core } from './settings/core.ts'
import { cratesIo } from './settings/crates-io.ts'
import { discord } from './settings/discord.ts'
import { forge } from './settings/forge.ts'
import { hackerNews } from './settings/hacker-news.ts'
import { linkedin } from './settings/linkedin.ts'
import { mastodon } from './settings/mastodon.ts'
import { openCollective } from './settings/open-collective.ts'
import { reddit } from './settings/reddit.ts'
import { twitter } from './settings/twitter.ts'
import { youtube } from './settings/youtube.ts'

export const settings = t.object(
  {
    ...core,
    ...twitter,
    ...bluesky,
    ...mastodon,
    ...discord,
    ...hackerNews,
    ...reddit,
    ...youtube,
    ...linkedin,
    ...forge,
    ...openCollective,
    ...cratesIo
  },
  { 'x-section': 'news', 'x-section-aliases': ['orchestrator.news'] }
)

export type Settings = Infer<typeof settings>
