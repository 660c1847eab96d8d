import type { Span } from '../syntax/node.ts'
import { Kind, LAST_KEYWORD } from '../syntax/token.ts'
import type { TokenList } from '../syntax/token-list.ts'

/** A word, with the words before it in a path: `std`, `fs`, `read`. */
export interface WordAt extends Span {
  readonly path: readonly string[]
  readonly isDecorator: boolean
}

export function wordAt(tokens: TokenList, offset: number): WordAt | null {
  const index = touching(tokens, offset)
  if (index === null) return null
  const [start, end] = [tokens.start(index), tokens.end(index)]
  if (tokens.kind(index) === Kind.Decorator) {
    return { start, end, path: [tokens.text(index).slice(1)], isDecorator: true }
  }
  const path = [tokens.text(index)]
  for (let at = index - 1; at > 0 && tokens.kind(at) === Kind.Dot && isName(tokens.kind(at - 1)); at -= 2) {
    if (tokens.newlineBefore(at + 1)) break
    path.unshift(tokens.text(at - 1))
  }
  // After a call or an index, the path is unknown.
  if (path.length === 1 && index > 0 && tokens.kind(index - 1) === Kind.Dot) path.unshift('')
  return { start, end, path, isDecorator: false }
}

function touching(tokens: TokenList, offset: number): number | null {
  let low = 0
  let high = tokens.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (tokens.start(middle) <= offset) low = middle + 1
    else high = middle
  }
  for (const index of [low - 1, low - 2]) {
    if (index < 0 || offset > tokens.end(index)) continue
    const kind = tokens.kind(index)
    if (kind === Kind.Decorator || isName(kind)) return index
  }
  return null
}

function isName(kind: number): boolean {
  return kind >= Kind.Identifier && kind <= LAST_KEYWORD
}
