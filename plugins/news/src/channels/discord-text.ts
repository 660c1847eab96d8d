import type { NewsPost } from '@svc/contracts'
import { spansOf } from '../text/addresses.ts'
import { cutText } from '../text/cut.ts'
import { codePoints, lengthOf, type Meter } from '../text/meters.ts'

/** Discord counts code points (https://github.com/discord/discord-api-docs/issues/1315). */
export const CONTENT = codePoints(2_000)
export const EMBED_TITLE = codePoints(256)
export const EMBED_TEXT = codePoints(4_096)
const EMBED_AUTHOR = codePoints(256)

/** Parts of an embed, in the words of the API. */
export interface Embed {
  readonly title: string
  readonly url: string
  readonly description: string
  readonly timestamp: string
  readonly author: { readonly name: string }
}

/** Counts the characters of a text after its escaping. */
function escaped(meter: Meter): Meter {
  return { ...meter, weigh: token => [...(token.kind === 'url' ? token.text : escapeToken(token.text))].length }
}

/** Returns title, summary and link of a post as a message, at most `limit` characters. */
export function messageOf({ title, summary, link }: NewsPost, limit: number): string {
  const head = `**${escapeMarkdown(cutText(title, { meters: [escaped(EMBED_TITLE)] }))}**`
  const fixed = `${head}\n\n\n${link}`
  const left = limit - lengthOf(fixed, CONTENT)
  if (summary === '' || left < 1) return `${head}\n${link}`
  return `${head}\n${escapeMarkdown(cutText(summary, { meters: [escaped(codePoints(left))] }))}\n\n${link}`
}

export function embedOf(post: NewsPost): Embed {
  return {
    title: cutText(post.title, { meters: [EMBED_TITLE] }),
    url: post.link,
    description: escapeMarkdown(cutText(post.summary, { meters: [escaped(EMBED_TEXT)] })),
    timestamp: post.publishedAt,
    author: { name: cutText(post.author, { meters: [EMBED_AUTHOR] }) }
  }
}

/** Escapes the Markdown of Discord outside addresses. */
function escapeMarkdown(text: string): string {
  let result = ''
  let at = 0
  for (const { kind, start, end } of spansOf(text)) {
    if (kind !== 'url') continue
    result += escapeToken(text.slice(at, start)) + text.slice(start, end)
    at = end
  }
  return result + escapeToken(text.slice(at))
}

function escapeToken(text: string): string {
  return text.replace(/[\\*_~`|>#[\]()<-]/g, '\\$&')
}
