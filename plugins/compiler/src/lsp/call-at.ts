import { Kind, LAST_KEYWORD } from '../syntax/token.ts'
import type { TokenList } from '../syntax/token-list.ts'

/** A call around the cursor. */
export interface CallAt {
  /** Index of the token with the name of the callee. */
  readonly callee: number
  /** Number of arguments before the one at the cursor. A piped value counts as one. */
  readonly index: number
  /** Name of the argument at the cursor, if it is a named one. */
  readonly name: string | null
}

/** Words before a name that declares something: its parentheses enclose parameters. */
const DECLARING: ReadonlySet<number> = new Set([
  Kind.Fn,
  Kind.On,
  Kind.Workflow,
  Kind.Activity,
  Kind.Actor,
  Kind.Component,
  Kind.Fragment,
  Kind.Type,
  Kind.Bar
])

/** Finds the innermost call whose arguments contain an offset, since incomplete code rarely parses. */
export function callAt(tokens: TokenList, offset: number): CallAt | null {
  let index = 0
  let argument = -1
  for (let at = lastBefore(tokens, offset); at >= 0; at--) {
    const kind = tokens.kind(at)
    if (kind === Kind.RightParen || kind === Kind.RightBracket || kind === Kind.RightBrace) {
      const opening = tokens.partner(at)
      if (opening < 0) return null
      at = opening
      continue
    }
    if (kind === Kind.Comma) {
      if (argument < 0) argument = at + 1
      index++
    }
    if (kind === Kind.LeftBrace && !isRecord(tokens, at)) return null
    if (kind !== Kind.LeftParen && kind !== Kind.LeftBracket && kind !== Kind.LeftBrace) continue
    const callee = kind === Kind.LeftParen ? calleeBefore(tokens, at) : -1
    if (callee >= 0) {
      if (DECLARING.has(tokens.kind(callee - 1))) return null
      const first = argument < 0 ? at + 1 : argument
      return { callee, index: index + (isPiped(tokens, callee) ? 1 : 0), name: nameAt(tokens, first, offset) }
    }
    index = 0
    argument = -1
  }
  return null
}

/** Returns the last token that begins before an offset, except a closing bracket that ends there; -1 if there is none. */
function lastBefore(tokens: TokenList, offset: number): number {
  let low = 0
  let high = tokens.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (tokens.start(middle) < offset) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** True for the brace of a record in an argument; false for a block, in which no call is open. */
function isRecord(tokens: TokenList, brace: number): boolean {
  const before = tokens.kind(brace - 1)
  return before === Kind.LeftParen || before === Kind.Comma || before === Kind.Colon || before === Kind.LeftBracket
}

/** Returns the name before the parenthesis of a call, after skipping type arguments; -1 for a parenthesised value. */
function calleeBefore(tokens: TokenList, opening: number): number {
  let at = opening - 1
  if (tokens.kind(at) === Kind.RightBracket && tokens.partner(at) > 0) at = tokens.partner(at) - 1
  const kind = tokens.kind(at)
  const isName = at >= 0 && kind >= Kind.Identifier && kind <= LAST_KEYWORD && kind !== Kind.Underscore
  const isKeyword = kind > Kind.Workflow && tokens.kind(at - 1) !== Kind.Dot
  return isName && (!isKeyword || kind === Kind.Spawn) ? at : -1
}

/** True if a value is piped into the callee: `xs |> f(1)`. */
function isPiped(tokens: TokenList, callee: number): boolean {
  let at = callee
  while (tokens.kind(at - 1) === Kind.Dot) at -= 2
  return at > 0 && tokens.kind(at - 1) === Kind.Pipe
}

function nameAt(tokens: TokenList, first: number, offset: number): string | null {
  const separator = tokens.kind(first + 1)
  const isNamed = (separator === Kind.Equal || separator === Kind.Colon) && tokens.end(first + 1) <= offset
  return isNamed ? tokens.text(first) : null
}
