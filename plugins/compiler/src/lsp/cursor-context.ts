import { Kind, LAST_KEYWORD } from '../syntax/token.ts'
import type { TokenList } from '../syntax/token-list.ts'
import { COLUMN_MODIFIERS } from '../types/db/chain.ts'

/** Kind of completion at the cursor. `from` is the start of the word at the cursor. */
export type CursorContext =
  /** In a comment, or in a string that is not a name. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'decorator'; readonly from: number }
  /** After a dot. `path` holds the words before it; it is empty if other syntax precedes the dot. */
  | { readonly kind: 'member'; readonly path: readonly string[]; readonly from: number }
  /**
   * An argument of a decorator. `argument` is the name of the one that contains the cursor; null where a name or a value
   * without one begins.
   */
  | { readonly kind: 'argument'; readonly decorator: string; readonly argument: string | null; readonly from: number }
  /** In the condition of a row rule. `table` is null if none follows; `path` holds the words before a dot. */
  | { readonly kind: 'rule'; readonly table: string | null; readonly path: readonly string[]; readonly from: number }
  | { readonly kind: 'type'; readonly from: number }
  /** A column of a table. `logic` is true if `and`, `or` and `not` are also allowed. */
  | { readonly kind: 'column'; readonly table: string; readonly logic: boolean; readonly from: number }
  /** An operator of `where`, or a plain value. */
  | { readonly kind: 'operator'; readonly from: number }
  /** A value name or a keyword. `isOutside` is true outside all brackets, where declarations begin. */
  | { readonly kind: 'value'; readonly isOutside: boolean; readonly from: number }

const RECORD_CALLS: ReadonlySet<string> = new Set(['insert', 'filter', 'where', 'update'])
const LOGIC: ReadonlySet<string> = new Set(['and', 'or', 'not'])

/** Decorators whose arguments have their own completions. Others have expressions of the program. */
const WITH_ARGUMENTS: ReadonlySet<string> = new Set('auth rate_limit cors webhook endpoint rule uses'.split(' '))

/** Maximum number of tokens between the cursor in a row rule and its table. */
const MAX_RULE_TOKENS = 500

/** Finds the context from the tokens before the cursor, since incomplete code rarely parses. */
export function cursorContext(tokens: TokenList, offset: number): CursorContext {
  return new ContextReader(tokens, offset).read()
}

class ContextReader {
  readonly #tokens: TokenList
  readonly #offset: number

  constructor(tokens: TokenList, offset: number) {
    this.#tokens = tokens
    this.#offset = offset
  }

  read(): CursorContext {
    const tokens = this.#tokens
    const offset = this.#offset
    const decorator = /@[\w.]*$/.exec(tokens.source.slice(Math.max(0, offset - 80), offset))
    if (tokens.comments.some(({ start, end }) => start < offset && offset <= end)) return { kind: 'nothing' }
    const last = this.#before(offset)
    const isInside = last >= 0 && tokens.end(last) >= offset
    const kind = tokens.kind(last)
    if (isInside && kind === Kind.String && !this.#isClosed(last)) return this.#text(last)
    if (decorator !== null) return { kind: 'decorator', from: offset - decorator[0].length + 1 }
    if (isInside && (kind === Kind.Int || kind === Kind.Float || kind === Kind.Decimal)) return { kind: 'nothing' }
    const isWord = isInside && this.#isName(last)
    const from = isWord ? tokens.start(last) : offset
    const previous = isWord ? last - 1 : last
    if (previous < 0) return { kind: 'value', isOutside: true, from }
    const before = tokens.kind(previous)
    // A dot at the end of a line does not begin a member.
    const isNear = !/[\r\n]/.test(tokens.source.slice(tokens.end(previous), from))
    const inDecorator = this.#decorator(previous, from)
    if (inDecorator !== null) return inDecorator
    if (before === Kind.Dot && isNear) return { kind: 'member', path: this.#path(previous), from }
    if (before === Kind.To || before === Kind.Arrow) return { kind: 'type', from }
    const opening = this.#opening(previous)
    if (opening < 0) return { kind: 'value', isOutside: true, from }
    return this.#column(opening, previous, from) ?? { kind: 'value', isOutside: false, from }
  }

  /** Returns the last token that begins before an offset; -1 if there is none. */
  #before(offset: number): number {
    let low = 0
    let high = this.#tokens.length - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#tokens.start(middle) < offset) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  #isName(index: number): boolean {
    const kind = this.#tokens.kind(index)
    return index >= 0 && kind >= Kind.Identifier && kind <= LAST_KEYWORD
  }

  /** True if the cursor is after the closing quote of a string. */
  #isClosed(index: number): boolean {
    const text = this.#tokens.text(index)
    return this.#tokens.end(index) === this.#offset && text.length > 1 && text.at(-1) === text[0]
  }

  #text(index: number): CursorContext {
    const opening = this.#opening(index - 1)
    const found = opening < 0 ? null : this.#listed(opening)
    if (found === null) return { kind: 'nothing' }
    return { kind: 'column', table: found, logic: false, from: this.#tokens.start(index) + 1 }
  }

  #path(dot: number): string[] {
    const path: string[] = []
    let at = dot
    while (at > 0 && this.#tokens.kind(at) === Kind.Dot && this.#isName(at - 1)) {
      path.unshift(this.#tokens.text(at - 1))
      at -= 2
      if (this.#tokens.newlineBefore(at + 1)) break
    }
    const isWhole =
      path.length > 0 && (at < 0 || this.#tokens.kind(at) !== Kind.Dot || this.#tokens.newlineBefore(at + 1))
    return isWhole ? path : []
  }

  /** Returns the innermost open bracket before a token; -1 if there is none. */
  #opening(index: number): number {
    let depth = 0
    for (let at = index; at >= 0; at--) {
      const kind = this.#tokens.kind(at)
      if (kind === Kind.RightParen || kind === Kind.RightBracket || kind === Kind.RightBrace) depth++
      if (kind !== Kind.LeftParen && kind !== Kind.LeftBracket && kind !== Kind.LeftBrace) continue
      if (depth === 0) return at
      depth--
    }
    return -1
  }

  /** Returns the context in the arguments of a decorator that has its own completions; null elsewhere. */
  #decorator(previous: number, from: number): CursorContext | null {
    const tokens = this.#tokens
    let opening = this.#opening(previous)
    let isNested = false
    while (opening > 0 && tokens.kind(opening) === Kind.LeftParen && tokens.kind(opening - 1) !== Kind.Decorator) {
      opening = this.#opening(opening - 1)
      isNested = true
    }
    if (opening < 1 || tokens.kind(opening) !== Kind.LeftParen) return null
    const decorator = tokens.text(opening - 1).slice(1)
    if (!WITH_ARGUMENTS.has(decorator)) return null
    const first = this.#argument(opening, previous)
    const isNamed = first < previous && this.#isName(first) && tokens.kind(first + 1) === Kind.Colon
    const argument = isNamed ? tokens.text(first) : null
    if (decorator === 'rule' && argument !== null) {
      const path = tokens.kind(previous) === Kind.Dot ? this.#path(previous) : []
      return { kind: 'rule', table: this.#declaredAfter(previous), path, from }
    }
    return isNested || tokens.kind(previous) === Kind.Dot ? null : { kind: 'argument', decorator, argument, from }
  }

  /** Returns the first token of the argument that contains a token; the list begins at `opening`. */
  #argument(opening: number, index: number): number {
    let depth = 0
    for (let at = index; at > opening; at--) {
      const kind = this.#tokens.kind(at)
      if (kind === Kind.RightParen || kind === Kind.RightBracket) depth++
      else if (kind === Kind.LeftParen || kind === Kind.LeftBracket) depth--
      else if (kind === Kind.Comma && depth <= 0) return at + 1
    }
    return opening + 1
  }

  /** Returns the name of the next type that is declared after a token; null if none follows soon. */
  #declaredAfter(index: number): string | null {
    const tokens = this.#tokens
    for (let at = index; at < Math.min(index + MAX_RULE_TOKENS, tokens.length - 1); at++) {
      if (tokens.kind(at) === Kind.Type && tokens.kind(at + 1) === Kind.TypeIdentifier) return tokens.text(at + 1)
    }
    return null
  }

  #column(opening: number, previous: number, from: number): CursorContext | null {
    const listed = this.#listed(opening)
    if (listed !== null) return { kind: 'column', table: listed, logic: false, from }
    if (this.#tokens.kind(opening) !== Kind.LeftBrace) return null
    const before = this.#tokens.kind(previous)
    const isKey = before === Kind.LeftBrace || before === Kind.Comma || this.#tokens.newlineBefore(previous + 1)
    const record = isKey ? this.#record(opening) : null
    if (record === null) return null
    if (record.isComparison) return { kind: 'operator', from }
    return { kind: 'column', table: record.table, logic: record.call === 'where', from }
  }

  #word(index: number): string {
    return index < 0 ? '' : this.#tokens.text(index)
  }

  /** Returns the table whose columns `order_by(` or `select(` lists. */
  #listed(opening: number): string | null {
    const kind = this.#tokens.kind(opening)
    if (kind === Kind.LeftBracket) {
      const outer = this.#opening(opening - 1)
      return outer < 0 || this.#tokens.kind(outer) !== Kind.LeftParen ? null : this.#listed(outer)
    }
    if (kind !== Kind.LeftParen || !COLUMN_MODIFIERS.has(this.#word(opening - 1))) return null
    return this.#table(opening - 1)
  }

  /** Returns the table call that has this record as its argument. */
  #record(brace: number): { readonly table: string; readonly call: string; readonly isComparison: boolean } | null {
    const tokens = this.#tokens
    if (tokens.kind(brace - 1) === Kind.Colon) {
      const key = this.#word(brace - 2)
      const outer = this.#record(this.#opening(brace - 1))
      if (outer === null || outer.call !== 'where' || outer.isComparison) return null
      return LOGIC.has(key) ? outer : { ...outer, isComparison: true }
    }
    const around = this.#opening(brace - 1)
    if (around < 0) return null
    if (tokens.kind(around) === Kind.LeftBracket) {
      return tokens.kind(around - 1) === Kind.Colon ? this.#record(this.#opening(around - 1)) : null
    }
    if (tokens.kind(around) !== Kind.LeftParen) return null
    const call = this.#word(around - 1)
    const table = RECORD_CALLS.has(call) ? this.#table(around - 1) : null
    return table === null ? null : { table, call, isComparison: false }
  }

  /** Returns the table of the chain that contains this call. */
  #table(name: number): string | null {
    const tokens = this.#tokens
    let at = name - 1
    while (at > 0 && tokens.kind(at) === Kind.Dot) {
      if (tokens.kind(at - 1) === Kind.RightParen) {
        const opening = this.#opening(at - 2)
        if (opening < 1) return null
        at = opening - 2
        continue
      }
      const isTable = tokens.kind(at - 2) === Kind.Dot && this.#word(at - 3) === 'db'
      return isTable ? this.#word(at - 1) : null
    }
    return null
  }
}
