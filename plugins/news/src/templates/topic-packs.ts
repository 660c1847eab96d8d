/** A set of channels with their floors, for items about one kind of topic. */
interface TopicPackRules {
  /** Channels that an item is sent to if it does not say otherwise, and if their options have no required field. */
  readonly channels: readonly string[]
  /** Worthiness scores that channels need if floors are enforced. */
  readonly floors: Readonly<Record<string, number>>
}

export const TOPIC_PACKS = {
  research_breakthrough: {
    channels: ['rss', 'twitter', 'bluesky', 'mastodon', 'linkedin', 'hacker_news'],
    floors: { twitter: 0.88, bluesky: 0.88, mastodon: 0.88, linkedin: 0.9, hacker_news: 0.92, reddit: 0.9 }
  },
  infra_release: {
    channels: ['rss', 'bluesky', 'mastodon', 'discord'],
    floors: { bluesky: 0.85, mastodon: 0.85, discord: 0.85, reddit: 0.87 }
  },
  benchmark: {
    channels: ['rss', 'twitter', 'bluesky', 'mastodon', 'hacker_news'],
    floors: { twitter: 0.9, bluesky: 0.9, mastodon: 0.9, hacker_news: 0.92, reddit: 0.92 }
  },
  video_demo: {
    channels: ['rss', 'twitter', 'bluesky', 'mastodon'],
    floors: { youtube: 0.85, twitter: 0.85, bluesky: 0.85, mastodon: 0.85 }
  }
} as const satisfies Readonly<Record<string, TopicPackRules>>

export type TopicPack = keyof typeof TOPIC_PACKS

/** Returns the rules of a pack; none without a pack. */
export function topicPackRules(pack: TopicPack | null): TopicPackRules {
  return pack === null ? { channels: [], floors: {} } : TOPIC_PACKS[pack]
}
