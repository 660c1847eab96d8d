import { describeKind, Kind } from '../token.ts'
import { ANY_CONTEXT, BEFORE_ARROW, BEFORE_BODY, ITERATED, JOINS_LINES, type Parser, within } from './parser.ts'

/**
 * Parses comma-separated items and both of their brackets. The opening bracket is next. Line breaks are
 * insignificant.
 */
export function list<A>(p: Parser, closing: number, item: (p: Parser) => A): A[] {
  const { position: opening } = p
  const items = within(p, JOINS_LINES, BEFORE_BODY | BEFORE_ARROW | ITERATED, () => listItems(p, closing, item))
  if (p.kind === closing) p.advance()
  else unclosed(p, opening, closing)
  return items
}

function listItems<A>(p: Parser, closing: number, item: (p: Parser) => A): A[] {
  const { position: opening } = p
  const items: A[] = []
  p.advance()
  while (p.kind !== closing && p.kind !== Kind.EndOfFile) {
    items.push(item(p))
    if (!p.inPanic) {
      if (p.accept(Kind.Comma)) continue
      if (p.kind === closing) break
      p.failExpecting([describeKind(Kind.Comma), describeKind(closing)], '')
    }
    if (!toNextItem(p, opening)) break
  }
  return items
}

/** Skips the rest of an invalid item. Returns false after the last item. */
function toNextItem(p: Parser, opening: number): boolean {
  const end = p.tokens.partner(opening)
  if (end === -1) return false
  while (p.position < end && p.kind !== Kind.Comma) p.skip()
  p.recovered()
  return p.accept(Kind.Comma)
}

function unclosed(p: Parser, opening: number, closing: number): void {
  const end = p.tokens.partner(opening)
  if (end >= p.position) {
    p.moveTo(end + 1)
    p.recovered()
  } else {
    const span = { start: p.tokens.start(opening), end: p.tokens.end(opening) }
    p.failExpecting([describeKind(closing)], '', { related: [{ span, message: 'opened here' }] })
  }
}

/**
 * Parses items in braces, separated by commas, line breaks or spaces. The brace at `opening` has been read. If
 * `mayMissBrace`, a declaration at the start of a line ends the list, since the closing brace is probably missing
 * before it. So does a token for which `endsBefore` is true; it reports the missing brace.
 */
export function bracedItems<A>(
  p: Parser,
  opening: number,
  mayMissBrace: boolean,
  item: (p: Parser) => A,
  endsBefore: ((p: Parser) => boolean) | null = null
): A[] {
  const items: A[] = []
  const isClosed = within(p, 0, ANY_CONTEXT, () => untilBrace(p, opening, mayMissBrace, item, items, endsBefore))
  if (isClosed) closeBrace(p, opening)
  return items
}

/** Returns false if the list ends without its brace. */
function untilBrace<A>(
  p: Parser,
  opening: number,
  mayMissBrace: boolean,
  item: (p: Parser) => A,
  items: A[],
  endsBefore: ((p: Parser) => boolean) | null
): boolean {
  while (p.kind !== Kind.RightBrace && p.kind !== Kind.EndOfFile) {
    if (endsBefore?.(p) === true) return false
    if (mayMissBrace && p.tokens.newlineBefore(p.position) && p.atOuterDeclaration) {
      missesBrace(p, opening)
      return false
    }
    const before = p.position
    items.push(item(p))
    p.accept(Kind.Comma)
    if (p.inPanic || p.position === before) toNextLine(p, before)
  }
  return true
}

/** Parses the members of a declaration in braces. If there is no brace, reports an error. */
export function parseMembers<A>(p: Parser, description: string, item: (p: Parser) => A): A[] {
  const { position: opening } = p
  if (!p.expect(Kind.LeftBrace, `before ${description}`) || !p.enter()) return []
  const items = bracedItems(p, opening, true, item)
  p.leave()
  return items
}

/** Reads the brace that closes the one at `opening`. If it is missing, reports an error and resynchronises. */
export function closeBrace(p: Parser, opening: number): void {
  if (p.accept(Kind.RightBrace)) return
  const end = p.tokens.partner(opening)
  const span = { start: p.tokens.start(opening), end: p.tokens.end(opening) }
  p.failExpecting(['`}`'], '', { related: [{ span, message: 'this brace is not closed' }] })
  if (end < p.position) return
  p.moveTo(end + 1)
  p.recovered()
}

function missesBrace(p: Parser, opening: number): void {
  const span = { start: p.tokens.start(opening), end: p.tokens.end(opening) }
  p.fail('an opening brace is not closed before this declaration', p.here(), {
    related: [{ span, message: 'this brace is not closed' }],
    suggestions: ['write `}` before it']
  })
}

/**
 * Skips to the next line, or to the brace that closes the list. Skips at least one token if none was read since
 * `before`.
 */
function toNextLine(p: Parser, before: number): void {
  if (p.position === before) p.skip()
  while (p.kind !== Kind.EndOfFile && p.kind !== Kind.RightBrace) {
    if (p.tokens.newlineBefore(p.position)) break
    p.skip()
  }
  p.recovered()
}
