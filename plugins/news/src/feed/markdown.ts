import MarkdownIt from 'markdown-it'

/** Characters of a body that are converted to HTML. The time grows with the length, but for tables a little faster. */
const MAX_HTML_CHARS = 256 * 1024

let shared: MarkdownIt | undefined

/** Returns the reader of Markdown. Raw HTML is text to it, and links to `javascript:` and `data:` are not made. */
export function markdown(): MarkdownIt {
  shared ??= new MarkdownIt('default', { html: false, linkify: false, typographer: false })
  return shared
}

/**
 * Converts a text to HTML without scripts, event handlers and raw HTML. Relative addresses are resolved against `base`,
 * since readers of feeds have none. Returns null if the text is too long to convert it quickly.
 */
export function htmlOf(text: string, base: string): string | null {
  if (text.length > MAX_HTML_CHARS) return null
  const tokens = markdown().parse(text, {})
  const inline = tokens.flatMap(({ children }) => children ?? [])
  for (const { attrs } of inline.filter(({ type }) => type === 'link_open' || type === 'image')) {
    for (const attribute of attrs ?? [])
      if (attribute[0] === 'href' || attribute[0] === 'src') attribute[1] = absolute(attribute[1], base)
  }
  return markdown().renderer.render(tokens, markdown().options, {})
}

function absolute(address: string, base: string): string {
  return URL.canParse(address, base) ? new URL(address, base).href : base
}
