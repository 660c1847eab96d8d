export { FeedFile } from './feed-file.ts'
export { emptyFeed, entriesOf, type FeedEntry, withEntries } from './feed-xml.ts'
export { htmlOf } from './markdown.ts'
export { rssChannel } from './rss-channel.ts'
