import type { Language } from './languages.ts'

export interface Comment {
  readonly text: string
  readonly start: number
}

export interface Lexed {
  /** The source with comments and strings blanked out; length and line breaks stay the same. */
  readonly code: string
  readonly comments: readonly Comment[]
}

/**
 * Separates code from comments and strings, without a parser. An apparent string, for example a quote in a regular
 * expression, ends with its line at the latest. Runs in linear time.
 */
export function lex(text: string, language: Language): Lexed {
  const comments: Comment[] = []
  const openings = startsOf(language)
  let code = ''
  let done = 0
  let at = 0
  while (at < text.length) {
    if (!openings.has(text.charCodeAt(at))) {
      at += 1
      continue
    }
    const end = commentEnd(text, at, language) ?? null
    if (end !== null) comments.push({ text: text.slice(at, end), start: at })
    const close = end ?? stringEnd(text, at, language)
    if (close === null) {
      at += 1
      continue
    }
    code += text.slice(done, at) + blank(text.slice(at, close))
    done = close
    at = close
  }
  return { code: code + text.slice(done), comments }
}

const openingsOf = new WeakMap<Language, ReadonlySet<number>>()

function startsOf(language: Language): ReadonlySet<number> {
  let found = openingsOf.get(language)
  if (found === undefined) {
    const forms = [
      ...language.lineComments,
      ...language.blockComments.map(([open]) => open),
      ...language.strings.map(({ open }) => open)
    ]
    found = new Set(forms.map(form => form.charCodeAt(0)))
    openingsOf.set(language, found)
  }
  return found
}

function commentEnd(text: string, at: number, language: Language): number | null {
  for (const [open, close] of language.blockComments)
    if (text.startsWith(open, at))
      return language.nestedComments === true ? nestedEnd(text, at, open, close) : after(text, at, open, close)
  for (const mark of language.lineComments) {
    if (!text.startsWith(mark, at)) continue
    if (language.spacedComments === true && at > 0 && !/\s/.test(text[at - 1] ?? '')) continue
    const end = text.indexOf('\n', at)
    return end < 0 ? text.length : end
  }
  return null
}

function after(text: string, at: number, open: string, close: string): number {
  const end = text.indexOf(close, at + open.length)
  return end < 0 ? text.length : end + close.length
}

function nestedEnd(text: string, start: number, open: string, close: string): number {
  let depth = 1
  for (let at = start + open.length; at < text.length; at++) {
    if (text.startsWith(open, at)) {
      depth += 1
      at += open.length - 1
    } else if (text.startsWith(close, at)) {
      depth -= 1
      at += close.length - 1
      if (depth === 0) return at + 1
    }
  }
  return text.length
}

function stringEnd(text: string, at: number, language: Language): number | null {
  for (const { open, close, escapes, multiline } of language.strings) {
    if (!text.startsWith(open, at)) continue
    for (let next = at + open.length; next < text.length; next++) {
      if (escapes === true && text[next] === '\\') next += 1
      else if (text.startsWith(close, next)) return next + close.length
      else if (text[next] === '\n' && multiline !== true) return next
    }
    return text.length
  }
  return null
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, ' ')
}
