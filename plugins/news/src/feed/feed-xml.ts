import { parseXml, type XmlDocument, type XmlElement, XmlNode } from '@rgrove/parse-xml'
import { newsErrors } from '../errors.ts'

export interface FeedEntry {
  /** Id of the item, which is the guid. */
  readonly id: string
  readonly title: string
  readonly author: string
  readonly link: string
  /** ISO 8601 in UTC. */
  readonly publishedAt: string
  readonly tags: readonly string[]
  readonly summary: string
  /** HTML of the text, or null. */
  readonly html: string | null
}

export interface FeedChannel {
  readonly title: string
  readonly link: string
  readonly description: string
  /** Address of the feed on the site. */
  readonly self: string
}

/** An entry of a feed file. */
export interface FoundEntry {
  readonly guid: string | null
  readonly title: string | null
  readonly link: string | null
  /** Unix milliseconds; null without a valid date. */
  readonly publishedMs: number | null
}

const NAMESPACES = {
  atom: 'http://www.w3.org/2005/Atom',
  content: 'http://purl.org/rss/1.0/modules/content/',
  dc: 'http://purl.org/dc/elements/1.1/'
} as const
type Prefix = keyof typeof NAMESPACES

const MAX_FEED_CHARS = 16_000_000
const INDENT = '\n    '

/** Returns a feed without entries. */
export function emptyFeed({ title, link, description, self }: FeedChannel): string {
  const prefixes = Object.entries(NAMESPACES).map(([prefix, uri]) => ` xmlns:${prefix}="${uri}"`)
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<rss version="2.0"${prefixes.join('')}>`,
    '  <channel>',
    `    ${element('title', title)}`,
    `    ${element('link', link)}`,
    `    ${element('description', description)}`,
    `    <atom:link href="${escaped(self)}" rel="self" type="application/rss+xml"/>`,
    '  </channel>',
    '</rss>',
    ''
  ].join('\n')
}

/**
 * Returns a feed with these entries in place of those with the same guid, newest first. All other content is kept as it
 * is. Returns the same text if nothing changes, else with `nowMs` as the date of the feed. Throws `NEWS_FEED_INVALID`.
 */
export function withEntries(feed: string, entries: readonly FeedEntry[], nowMs: number): string {
  const { channel, root } = parseFeed(feed)
  const ids = new Set(entries.map(({ id }) => id))
  const items = elements(channel, 'item')
  const slices = items.map(item => ({ ...found(item), text: feed.slice(item.start, item.end) }))
  const rendered = entries.map(entry => ({
    guid: entry.id,
    publishedMs: Date.parse(entry.publishedAt),
    text: entryText(entry, root)
  }))
  const all = [...rendered, ...slices.filter(({ guid }) => guid === null || !ids.has(guid))]
  // The sort is stable: entries without a date, and those of one time, keep their order.
  all.sort((a, b) => (b.publishedMs ?? -Infinity) - (a.publishedMs ?? -Infinity) || 0)
  const texts = all.map(({ text }) => text)
  const isSame = texts.length === slices.length && texts.every((text, index) => text === slices[index]?.text)
  return isSame ? feed : rebuilt(feed, channel, items, texts, nowMs)
}

/** Returns the entries of a feed in their order. Throws `NEWS_FEED_INVALID`. */
export function entriesOf(feed: string): readonly FoundEntry[] {
  return elements(parseFeed(feed).channel, 'item').map(found)
}

interface ParsedFeed {
  readonly root: XmlElement
  readonly channel: XmlElement
}

function parseFeed(feed: string): ParsedFeed {
  const refuse = (problem: string, cause?: unknown) =>
    newsErrors.create('NEWS_FEED_INVALID', `the feed file is no RSS 2.0 feed: ${problem}`, {
      hint: 'correct or remove the file; svc news feed shows it',
      cause
    })
  if (feed.length > MAX_FEED_CHARS) throw refuse(`it has more than ${MAX_FEED_CHARS} characters`)
  let document: XmlDocument
  try {
    document = parseXml(feed, { includeOffsets: true })
  } catch (error) {
    if (error instanceof RangeError) throw refuse('its elements are nested too deeply', error)
    throw refuse(String((error as Error).message).split('\n')[0] ?? 'it is not well-formed', error)
  }
  const { root } = document
  if (root?.name !== 'rss' || !/^2\./.test(root.attributes.version ?? '')) {
    throw refuse(`the root is <${root?.name ?? ''}>, not <rss version="2.0">`)
  }
  const channels = elements(root, 'channel')
  const [channel] = channels
  if (channel === undefined || channels.length > 1) throw refuse('it does not have one <channel>')
  if (channel.children.length === 0) throw refuse('its <channel> is empty')
  return { root, channel }
}

/** Replaces the items of a channel by `texts`, and its date. Whitespace before removed items is removed, too. */
function rebuilt(
  feed: string,
  channel: XmlElement,
  items: readonly XmlElement[],
  texts: readonly string[],
  nowMs: number
): string {
  const [dated] = elements(channel, 'lastBuildDate')
  const date = element('lastBuildDate', new Date(nowMs).toUTCString())
  const lines = (dated === undefined ? [date, ...texts] : texts).join(INDENT)
  const edits = items.map(({ start, end }, index) =>
    index === 0 ? { start, end, text: lines } : { start: trimmed(feed, start), end, text: '' }
  )
  if (dated !== undefined) edits.push({ start: dated.start, end: dated.end, text: date })
  if (items.length === 0) {
    const end = feed.lastIndexOf('</', channel.end - 1)
    edits.push({ start: trimmed(feed, end), end, text: `${INDENT}${lines}\n  ` })
  }
  edits.sort((a, b) => a.start - b.start)
  const parts: string[] = []
  let at = 0
  for (const { start, end, text } of edits) {
    parts.push(feed.slice(at, start), text)
    at = end
  }
  parts.push(feed.slice(at))
  return parts.join('')
}

/** Returns the position after the last character before `position` that is no whitespace. */
function trimmed(feed: string, position: number): number {
  let at = position
  while (at > 0 && ' \t\n\r'.includes(feed[at - 1] ?? '.')) at--
  return at
}

function entryText(entry: FeedEntry, root: XmlElement): string {
  const own = (prefix: Prefix): string =>
    root.attributes[`xmlns:${prefix}`] === NAMESPACES[prefix] ? '' : ` xmlns:${prefix}="${NAMESPACES[prefix]}"`
  const lines = [
    element('title', entry.title),
    element('link', entry.link),
    element('guid', entry.id, ' isPermaLink="false"'),
    element('pubDate', new Date(entry.publishedAt).toUTCString()),
    element('dc:creator', entry.author, own('dc')),
    ...entry.tags.map(tag => element('category', tag)),
    element('description', entry.summary),
    ...(entry.html === null ? [] : [element('content:encoded', entry.html, own('content'))])
  ]
  return `<item>${lines.map(line => `${INDENT}  ${line}`).join('')}${INDENT}</item>`
}

function found(item: XmlElement): FoundEntry {
  const text = (name: string): string | null => elements(item, name)[0]?.text.trim() ?? null
  const published = Date.parse(text('pubDate') ?? '')
  return {
    guid: text('guid'),
    title: text('title'),
    link: text('link'),
    publishedMs: Number.isNaN(published) ? null : published
  }
}

function elements(parent: XmlElement, name: string): XmlElement[] {
  return parent.children.filter(
    (child): child is XmlElement => child.type === XmlNode.TYPE_ELEMENT && (child as XmlElement).name === name
  )
}

function element(name: string, text: string, attributes = ''): string {
  return `<${name}${attributes}>${escaped(text)}</${name}>`
}

/** Escapes a text, and removes characters that XML 1.0 cannot contain. */
function escaped(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Cs}/gu, '')
      .replace(/\r\n?/g, '\n')
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
  )
}
