import { markdown } from '../feed/markdown.ts'

/** Characters of a body that are read for its first paragraph. */
const MAX_READ = 8_192
/** Characters of a body that are read for its text. */
const MAX_TEXT = 65_536

/** Returns the first paragraph of a Markdown text without Markdown syntax; empty if there is none. */
export function firstParagraph(text: string): string {
  const tokens = markdown().parse(text.slice(0, MAX_READ), {})
  for (const [index, token] of tokens.entries()) {
    const inline = tokens[index + 1]
    if (token.type !== 'paragraph_open' || token.level > 0 || inline?.type !== 'inline') continue
    const found = textOf(inline.children ?? [])
      .replace(/\s+/g, ' ')
      .trim()
    if (found !== '') return found
  }
  return ''
}

/** Returns a Markdown text without Markdown syntax: a line for each paragraph, heading and list item, after a blank one. */
export function plainText(text: string): string {
  return markdown()
    .parse(text.slice(0, MAX_TEXT), {})
    .filter(({ type }) => type === 'inline')
    .map(({ children }) => textOf(children ?? []).trim())
    .filter(line => line !== '')
    .join('\n\n')
}

function textOf(tokens: readonly { readonly type: string; readonly content: string }[]): string {
  return tokens
    .map(({ type, content }) => {
      if (type === 'softbreak' || type === 'hardbreak') return ' '
      return type === 'text' || type === 'text_special' || type === 'code_inline' ? content : ''
    })
    .join('')
}
