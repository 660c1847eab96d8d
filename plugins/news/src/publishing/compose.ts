import { createHash } from 'node:crypto'
import { type ManifestContent, manifestDigest, type NewsChannel, type NewsPost } from '@svc/contracts'
import type { NewsItem } from '../items/item.ts'
import type { Settings } from '../settings.ts'
import { NO_ADJUSTMENT, TEMPLATE_PROFILES } from '../templates/profiles.ts'
import { fillTemplate, TEMPLATES } from '../templates/templates.ts'
import { topicPackRules } from '../templates/topic-packs.ts'

/** Returns the address of an item on the site. */
export function linkOf(id: string, { site_base_url }: Pick<Settings, 'site_base_url'>): string {
  return `${site_base_url.replace(/\/+$/, '')}/news/${encodeURIComponent(id)}.html`
}

/** Returns the publication of an item. Its digest covers everything that channels receive of the item. */
export function contentOf(item: NewsItem, settings: Settings): ManifestContent {
  const channels = Object.fromEntries([...item.channels].sort(([a], [b]) => (a < b ? -1 : 1)))
  const policies = [...item.policy.channels].sort(([a], [b]) => (a < b ? -1 : 1))
  const metadata = {
    keywords: item.tags,
    publication_date: item.publishedAt.slice(0, 10),
    ...(item.worthiness === null ? {} : { worthiness: item.worthiness }),
    news: {
      link: linkOf(item.id, settings),
      published_at: item.publishedAt,
      topic_pack: item.topicPack,
      template: item.template,
      values: item.values,
      channels,
      dry_run: item.dryRun,
      draft: item.draft,
      policy: { dry_run: item.policy.dryRun, channels: Object.fromEntries(policies) }
    }
  }
  return {
    publication_id: item.id,
    content_type: 'news_item',
    source_ref: item.file,
    title: item.title,
    author: item.author,
    abstract_text: item.summary,
    body_markdown: item.body,
    citations_json: null,
    metadata_json: JSON.stringify(metadata)
  }
}

export function digestOf(item: NewsItem, settings: Settings): string {
  return manifestDigest(contentOf(item, settings))
}

/** Returns the key of all attempts to send one digest to one channel: 32 hex digits. */
export function attemptKeyOf(digest: string, channel: string): string {
  return createHash('sha3-256').update(`news\n${digest}\n${channel}`).digest('hex').slice(0, 32)
}

/**
 * Returns the options of each channel that the item is sent to, by name: those that it names, and those of its topic
 * pack. False: the item excludes the channel. Null: the channel is in the topic pack only, and has required options.
 */
export function requestedChannels(
  item: NewsItem,
  known: readonly NewsChannel[]
): ReadonlyMap<string, Readonly<Record<string, unknown>> | false | null> {
  const requested = new Map<string, Readonly<Record<string, unknown>> | false | null>(item.channels)
  for (const name of topicPackRules(item.topicPack).channels) {
    const channel = known.find(each => each.name === name)
    if (channel === undefined || requested.has(name)) continue
    const { required } = channel.options
    requested.set(name, Array.isArray(required) && required.length > 0 ? null : {})
  }
  return requested
}

/** Returns what a channel receives. */
export function postOf(
  item: NewsItem,
  channel: string,
  options: Readonly<Record<string, unknown>>,
  digest: string,
  settings: Settings
): NewsPost {
  const policy = item.policy.channels.get(channel)
  const template = policy?.template ?? item.template
  const profile = policy?.templateProfile ?? null
  const link = linkOf(item.id, settings)
  const values = {
    ...item.values,
    id: item.id,
    title: item.title,
    author: item.author,
    date: item.publishedAt.slice(0, 10),
    summary: item.summary,
    link,
    tags: item.tags.join(', ')
  }
  return {
    id: item.id,
    digest,
    title: item.title,
    author: item.author,
    publishedAt: item.publishedAt,
    tags: item.tags,
    topicPack: item.topicPack,
    link,
    summary: template === null ? item.summary : fillTemplate(TEMPLATES[template], values),
    body: item.body,
    options,
    adjust: profile !== null && settings.template_profiles ? TEMPLATE_PROFILES[profile] : NO_ADJUSTMENT
  }
}
