import { type NewsChannel, type NewsPost, RemoteFailure } from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'
import type { ChannelParts } from '../channels/parts.ts'
import { FeedFile } from './feed-file.ts'
import type { FeedEntry } from './feed-xml.ts'
import { htmlOf } from './markdown.ts'

/** Channel `rss`: an entry in the feed file of the project. Sending it again replaces the same entry. */
export function rssChannel({ settings, projectRoot }: ChannelParts): NewsChannel {
  const feed = new FeedFile(projectRoot, settings)
  return {
    name: 'rss',
    summary: 'Feed file of the site',
    live: false,
    options: { type: 'object', properties: {}, additionalProperties: false },
    retry: 'standard',
    async problem() {
      try {
        await feed.read()
        return null
      } catch (error) {
        if (!isSvcError(error)) throw error
        return { message: error.message, hint: error.hint ?? 'svc news feed' }
      }
    },
    async preview(post) {
      const text = (label: string, value: string) => ({
        label,
        text: value,
        length: [...value].length,
        limit: 4_000,
        unit: 'characters'
      })
      return [text('title', post.title), text('link', post.link), text('description', post.summary)]
    },
    async send(post, { signal }) {
      try {
        await feed.update([entryOf(post)], signal)
      } catch (error) {
        signal.throwIfAborted()
        const isBusy = isSvcError(error, 'NEWS_FEED_BUSY')
        throw new RemoteFailure(`rss: ${errorMessage(error)}`, {
          failureClass: isBusy ? 'transient' : 'config',
          code: isBusy ? 'feed_busy' : 'feed_invalid'
        })
      }
      return { externalId: post.id, url: post.link }
    }
  }
}

/** Returns the entry of a post. Its text is HTML without scripts; that of a long post is left out. */
export function entryOf(post: NewsPost): FeedEntry {
  const { id, title, author, link, publishedAt, tags, summary } = post
  return { id, title, author, link, publishedAt, tags, summary, html: htmlOf(post.body, link) }
}
