import { Lexer, type Token, type Tokens } from 'marked'

/** Characters of a body that are read for its first paragraph. */
const MAX_READ = 8_192

/** Returns the first paragraph of a Markdown text without Markdown syntax; empty if there is none. */
export function firstParagraph(markdown: string): string {
  const tokens = new Lexer({ gfm: true }).lex(markdown.slice(0, MAX_READ))
  const first = tokens.find((token): token is Tokens.Paragraph => token.type === 'paragraph' && plain(token) !== '')
  return first === undefined ? '' : plain(first)
}

function plain(token: Token): string {
  return textOf(token).replace(/\s+/g, ' ').trim()
}

function textOf(token: Token): string {
  if (token.type === 'html') return ''
  if (token.type === 'br') return ' '
  if (token.type === 'image') return ''
  if ('tokens' in token && token.tokens !== undefined) return token.tokens.map(textOf).join('')
  return 'text' in token ? String(token.text) : ''
}
