import type { Range } from '../engine/source-views.ts'
import type { LexicalSyntax } from './languages.ts'

export interface Lexed {
  readonly comments: readonly Range[]
  /** With their delimiters. */
  readonly strings: readonly Range[]
}

/**
 * Finds comments and strings without a parser. An apparent string, for example a quote in a regular expression, ends with its
 * line at the latest. Runs in linear time.
 */
export function lex(text: string, syntax: LexicalSyntax): Lexed {
  const comments: Range[] = []
  const strings: Range[] = []
  const openings = startsOf(syntax)
  let at = 0
  while (at < text.length) {
    if (!openings.has(text.charCodeAt(at))) {
      at += 1
      continue
    }
    const comment = commentEnd(text, at, syntax)
    const end = comment ?? stringEnd(text, at, syntax)
    if (end === null) {
      at += 1
      continue
    }
    ;(comment === null ? strings : comments).push({ start: at, end })
    at = end
  }
  return { comments, strings }
}
const openingsOf = new WeakMap<LexicalSyntax, ReadonlySet<number>>()

function startsOf(syntax: LexicalSyntax): ReadonlySet<number> {
  let found = openingsOf.get(syntax)
  if (found === undefined) {
    const forms = [
      ...syntax.lineComments,
      ...syntax.blockComments.map(([open]) => open),
      ...syntax.strings.map(({ open }) => open)
    ]
    found = new Set(forms.map(form => form.charCodeAt(0)))
    openingsOf.set(syntax, found)
  }
  return found
}

function commentEnd(text: string, at: number, syntax: LexicalSyntax): number | null {
  for (const [open, close] of syntax.blockComments)
    if (text.startsWith(open, at))
      return syntax.nestedComments === true ? nestedEnd(text, at, open, close) : after(text, at, open, close)
  for (const mark of syntax.lineComments) {
    if (!text.startsWith(mark, at)) continue
    if (syntax.spacedComments === true && at > 0 && !/\s/.test(text[at - 1] ?? '')) continue
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

function stringEnd(text: string, at: number, syntax: LexicalSyntax): number | null {
  for (const { open, close, escapes, multiline } of syntax.strings) {
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
