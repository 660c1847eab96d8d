import { point } from '@svc/plugin-sdk'
import type { RemoteClient } from './remote-client.ts'

/** Channels that news are sent to. Two channels with one name or alias are a conflict. */
export const newsChannels = point<NewsChannel>('news.channels', {
  keys: ({ name, aliases = [] }) => [name, ...aliases].map(each => `channel ${each}`)
})

/** Input of a channel: a news item with its options for this channel. Plain data. */
export interface NewsPost {
  /** Id of the item; no path separators. */
  readonly id: string
  /** Digest of the item's publication: 64 lower-case hex digits. */
  readonly digest: string
  readonly title: string
  readonly author: string
  /** ISO 8601 in UTC. */
  readonly publishedAt: string
  readonly tags: readonly string[]
  readonly topicPack: string | null
  /** Address of the item on the site. */
  readonly link: string
  /** First paragraph without Markdown syntax. */
  readonly summary: string
  /** Markdown without front matter. */
  readonly body: string
  /** Value of this channel in `syndication`, such as `{ subreddit: "programming" }`; checked against `options`. */
  readonly options: Readonly<Record<string, unknown>>
  /** Changes of limits by the template profile; zero and one without a profile. */
  readonly adjust: { readonly marginChars: number; readonly capFactor: number }
}

/** One text that a channel would send. */
export interface ChannelText {
  /** `title`, `text`, `part 2 of 3` and so on. */
  readonly label: string
  readonly text: string
  /** Length as the platform counts it, and its limit. */
  readonly length: number
  readonly limit: number
  /** Unit of the length, such as `weighted characters` or `graphemes`. */
  readonly unit: string
}

export interface NewsChannel {
  /** Lower-case letters, digits and `_`. */
  readonly name: string
  readonly aliases?: readonly string[]
  readonly summary: string
  /** Whether it sends anything to another machine. */
  readonly live: boolean
  /** JSON Schema of the item's options for this channel. Items with other options are refused. */
  readonly options: Readonly<Record<string, unknown>>
  /** How often failed attempts are repeated. */
  readonly retry: RetryProfile
  /** Returns why it cannot be used now, such as a missing token, or null. */
  problem(): Promise<{ readonly message: string; readonly hint: string } | null>
  /** Returns the texts that `send` would send, from the post only. Throws {@link RemoteFailure} if it cannot. */
  preview(post: NewsPost): Promise<readonly ChannelText[]>
  /**
   * Sends a post. Throws {@link RemoteFailure}. After a failure whose outcome is unknown, the next call has the same
   * `attemptKey` and the saved checkpoint; a channel that cannot find out whether the post exists throws the code
   * `outcome_unknown` with class `fatal`, and a person decides.
   */
  send(post: NewsPost, context: ChannelContext): Promise<ChannelReceipt>
}

/** `aggressive`: 5 attempts, 400 ms. `standard`: 3, 800 ms. `minimal`: 2, 1,200 ms. The delay doubles, to 60 s at most. */
export type RetryProfile = 'aggressive' | 'standard' | 'minimal'

export interface ChannelContext {
  readonly signal: AbortSignal
  readonly http: RemoteClient
  /** The same for all attempts to send this digest to this channel: 32 hex digits. */
  readonly attemptKey: string
  readonly checkpoint: Readonly<Record<string, unknown>> | null
  /**
   * True if an earlier call with this key may have had its effect: its process ended, or its outcome is unknown. A
   * channel that is not idempotent then looks for the post before it sends one.
   */
  readonly mayExist: boolean
  /** Makes a fact durable before the next step. Throws if another process sends the same post: the channel must stop. */
  saveCheckpoint(checkpoint: Readonly<Record<string, unknown>>): Promise<void>
}

export interface ChannelReceipt {
  readonly externalId: string
  readonly url?: string
}
