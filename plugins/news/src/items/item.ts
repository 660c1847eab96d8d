import type { RetryProfile } from '@svc/contracts'
import type { TemplateProfile } from '../templates/profiles.ts'
import type { TemplateName } from '../templates/templates.ts'
import type { TopicPack } from '../templates/topic-packs.ts'

/** A news item: the front matter and text of one file. */
export interface NewsItem {
  readonly id: string
  readonly title: string
  readonly author: string
  /** ISO 8601 in UTC. */
  readonly publishedAt: string
  readonly tags: readonly string[]
  readonly topicPack: TopicPack | null
  /** Drafts are never sent. */
  readonly draft: boolean
  readonly template: TemplateName | null
  /** Values for placeholders of templates. */
  readonly values: Readonly<Record<string, string>>
  /** Options of each requested channel, by its name. False: the item excludes the channel. */
  readonly channels: ReadonlyMap<string, Readonly<Record<string, unknown>> | false>
  readonly dryRun: boolean
  readonly policy: DistributionPolicy
  /** Evidence for the worthiness score. */
  readonly worthiness: unknown
  /** First paragraph, or the field `summary`, without Markdown syntax. */
  readonly summary: string
  /** Markdown without front matter. */
  readonly body: string
  /** Path of the file relative to the project. */
  readonly file: string
}

/** `syndication.distribution_policy`: rules of an item for its channels. */
export interface DistributionPolicy {
  readonly dryRun: boolean
  /** Rules by the name of a channel. */
  readonly channels: ReadonlyMap<string, ChannelPolicy>
}

export interface ChannelPolicy {
  readonly enabled: boolean
  /** The item needs one of these tags. Empty: no condition. */
  readonly includeTags: readonly string[]
  /** The item may have none of these tags. */
  readonly excludeTags: readonly string[]
  /** Minimum share of `includeTags` that the item has, 0 to 1. */
  readonly minTopicScore: number
  readonly worthinessFloor: number | null
  readonly templateProfile: TemplateProfile | null
  /** Template of the summary for this channel. */
  readonly template: TemplateName | null
  /** `patient` doubles the delays of the channel's profile. */
  readonly retry: RetryProfile | 'patient' | null
}

/** Problem of a file. */
export interface ItemProblem {
  readonly code: 'NEWS_ITEM_INVALID' | 'NEWS_ID_DUPLICATE'
  readonly file: string
  readonly line: number
  readonly message: string
  readonly hint: string
}
