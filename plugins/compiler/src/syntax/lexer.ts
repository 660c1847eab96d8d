import { type Diagnostic, type DiagnosticDetails, diagnostic } from '../diagnostics/diagnostic.ts'
import { Kind, kindOfWord } from './token.ts'
import { TokenList } from './token-list.ts'

export interface LexResult {
  readonly tokens: TokenList
  readonly diagnostics: readonly Diagnostic[]
}

/** Named character codes. */
const TAB = 9
const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const SPACE = 32
const DOUBLE_QUOTE = 34
const HASH = 35
const AMPERSAND = 38
const SINGLE_QUOTE = 39
const STAR = 42
const DOT = 46
const SLASH = 47
const SEMICOLON = 59
const AT = 64
const BACKSLASH = 92
const BACKQUOTE = 96
const UNDERSCORE = 95
const BYTE_ORDER_MARK = 0xfeff

const LOWER = 1
const UPPER = 2
const DIGIT = 3
const NAME_MARK = 4

/** Class of each ASCII character in a name; 0 if names cannot contain it. */
const CLASS = new Uint8Array(128)
for (let code = 97; code <= 122; code++) CLASS[code] = LOWER
for (let code = 65; code <= 90; code++) CLASS[code] = UPPER
for (let code = 48; code <= 57; code++) CLASS[code] = DIGIT
CLASS[UNDERSCORE] = NAME_MARK

const classOf = (code: number): number => (code < 128 ? (CLASS[code] as number) : 0)

/** Kind of each one-character sign, by character code. */
const SINGLE = new Uint8Array(128)
for (const [sign, kind] of Object.entries({
  '<': Kind.Less,
  '>': Kind.Greater,
  '+': Kind.Plus,
  '-': Kind.Minus,
  '*': Kind.Star,
  '/': Kind.Slash,
  '%': Kind.Percent,
  '=': Kind.Equal,
  '|': Kind.Bar,
  '?': Kind.Question,
  '.': Kind.Dot,
  ',': Kind.Comma,
  ':': Kind.Colon,
  '(': Kind.LeftParen,
  ')': Kind.RightParen,
  '[': Kind.LeftBracket,
  ']': Kind.RightBracket,
  '{': Kind.LeftBrace,
  '}': Kind.RightBrace,
  '!': Kind.Bang
})) {
  SINGLE[sign.charCodeAt(0)] = kind
}

/** Kind of each two-character sign, by its character codes. */
const DOUBLE = new Map<number, number>(
  Object.entries({
    '==': Kind.EqualEqual,
    '!=': Kind.BangEqual,
    '<=': Kind.LessEqual,
    '>=': Kind.GreaterEqual,
    '+=': Kind.PlusEqual,
    '-=': Kind.MinusEqual,
    '*=': Kind.StarEqual,
    '/=': Kind.SlashEqual,
    '|>': Kind.Pipe,
    '->': Kind.Arrow,
    '=>': Kind.FatArrow,
    '</': Kind.LessSlash,
    '/>': Kind.SlashGreater,
    '<>': Kind.LessGreater,
    '&&': Kind.AndAnd,
    '||': Kind.BarBar
  }).map(([sign, kind]) => [(sign.charCodeAt(0) << 8) | sign.charCodeAt(1), kind])
)

/** A name with letters outside ASCII, which is invalid but read as one word. */
const LETTERS = /\p{L}[\p{L}\p{M}\w]*/uy

/** Splits a source text into tokens. Never throws; linear in the length of the text. */
export function lex(source: string): LexResult {
  return new Lexer(source).run()
}

class Lexer {
  readonly #source: string
  readonly #tokens: TokenList
  readonly #diagnostics: Diagnostic[] = []
  readonly #openBrackets: number[] = []
  /** Number of open `(`, `[` and `{`. */
  readonly #openCounts = new Uint32Array(3)
  /**
   * Character codes of quotes that have no further closing quote. Without this cache, repeated searches would take
   * quadratic time.
   */
  readonly #neverClosed = new Set<number>()
  #position = 0
  #newline = false

  constructor(source: string) {
    this.#source = source
    this.#tokens = new TokenList(source)
  }

  run(): LexResult {
    const source = this.#source
    if (source.charCodeAt(0) === BYTE_ORDER_MARK) this.#position = 1
    while (this.#position < source.length) {
      const start = this.#position
      const code = source.charCodeAt(start)
      if (code === SPACE || code === TAB) this.#position = start + 1
      else if (code === LINE_FEED || code === CARRIAGE_RETURN || code === SEMICOLON) {
        this.#newline = true
        this.#position = start + 1
      } else this.#token(start, code)
    }
    this.#push(Kind.EndOfFile, source.length)
    return { tokens: this.#tokens, diagnostics: this.#diagnostics }
  }

  #token(start: number, code: number): void {
    const letter = classOf(code)
    if (letter === DIGIT) this.#number(start)
    else if (letter !== 0) this.#word(start, letter)
    else if (code === DOUBLE_QUOTE || code === SINGLE_QUOTE) this.#string(start, code)
    else if (code === HASH) this.#comment(start)
    else if (code === SLASH && this.#source.charCodeAt(start + 1) === SLASH) this.#comment(start)
    else if (code === SLASH && this.#source.charCodeAt(start + 1) === STAR) this.#blockComment(start)
    else if (code !== AT || !this.#decorator(start)) this.#sign(start, code)
  }

  #push(kind: number, start: number, end = this.#position): void {
    this.#tokens.push(kind, start, end, this.#newline)
    this.#newline = false
  }

  #word(start: number, first: number): void {
    const source = this.#source
    let end = start + 1
    while (classOf(source.charCodeAt(end)) !== 0) end++
    this.#position = end
    if (first === UPPER) this.#push(Kind.TypeIdentifier, start)
    else if (first === LOWER) this.#push(kindOfWord(source, start, end), start)
    else this.#push(end === start + 1 ? Kind.Underscore : Kind.Identifier, start)
  }

  #number(start: number): void {
    const source = this.#source
    let end = this.#digits(start)
    let kind: number = Kind.Int
    // A number after a dot is a tuple index: `pair.0.1`.
    const isMember = this.#tokens.length > 0 && this.#tokens.kind(this.#tokens.length - 1) === Kind.Dot
    if (!isMember && source.charCodeAt(end) === DOT && classOf(source.charCodeAt(end + 1)) === DIGIT) {
      end = this.#digits(end + 1)
      kind = Kind.Float
    }
    if (source.startsWith('dec', end) && classOf(source.charCodeAt(end + 3)) === 0) {
      end += 3
      kind = Kind.Decimal
    }
    this.#position = end
    this.#push(kind, start)
    if (classOf(source.charCodeAt(end)) === 0) return
    while (classOf(source.charCodeAt(this.#position)) !== 0) this.#position++
    this.#report(`unexpected \`${source.slice(end, this.#position)}\` after a number`, end, this.#position, {
      suggestions: ['write a number as 12, 1.5 or 19.99dec, with decimal digits only']
    })
  }

  #digits(from: number): number {
    let end = from
    while (classOf(this.#source.charCodeAt(end)) === DIGIT) end++
    return end
  }

  #string(start: number, quote: number): void {
    const close = this.#closing(start, quote, this.#neverClosed.has(quote))
    if (close !== -1) {
      this.#position = close + 1
      this.#push(Kind.String, start)
      return
    }
    this.#neverClosed.add(quote)
    this.#position = this.#endOfLine(start)
    this.#push(Kind.String, start)
    this.#report('this string is not closed', start, this.#position, {
      suggestions: [`close the string with ${String.fromCharCode(quote)}`]
    })
  }

  /** Returns the offset of the closing quote of a string; -1 if there is none. */
  #closing(start: number, quote: number, onThisLine: boolean): number {
    const source = this.#source
    for (let at = start + 1; at < source.length; at++) {
      const code = source.charCodeAt(at)
      if (code === quote) return at
      if (code === BACKSLASH) at++
      else if (onThisLine && (code === LINE_FEED || code === CARRIAGE_RETURN)) return -1
    }
    return -1
  }

  #comment(start: number): void {
    this.#position = this.#endOfLine(start)
    let end = this.#position
    while (end > start && isBlank(this.#source.charCodeAt(end - 1))) end--
    this.#tokens.comments.push({ start, end, token: this.#tokens.length })
  }

  #endOfLine(from: number): number {
    const source = this.#source
    let end = from
    while (end < source.length) {
      const code = source.charCodeAt(end)
      if (code === LINE_FEED || code === CARRIAGE_RETURN) break
      end++
    }
    return end
  }

  #decorator(start: number): boolean {
    const source = this.#source
    const first = classOf(source.charCodeAt(start + 1))
    if (first === 0 || first === DIGIT) return false
    let end = start + 2
    while (true) {
      const code = source.charCodeAt(end)
      const next = classOf(source.charCodeAt(end + 1))
      if (classOf(code) !== 0) end++
      else if (code === DOT && next !== 0 && next !== DIGIT) end += 2
      else break
    }
    this.#position = end
    this.#push(Kind.Decorator, start)
    return true
  }

  #sign(start: number, code: number): void {
    const source = this.#source
    const next = source.charCodeAt(start + 1)
    const pair = code < 128 && next < 128 ? DOUBLE.get((code << 8) | next) : undefined
    if (pair !== undefined) {
      this.#position = start + 2
      this.#push(pair, start)
      return
    }
    const kind = code < 128 ? (SINGLE[code] as number) : 0
    if (kind === 0) {
      this.#unknown(start)
      return
    }
    this.#position = start + 1
    this.#push(kind, start)
    if (kind >= Kind.LeftParen && kind <= Kind.RightBrace) this.#bracket(kind)
  }

  /**
   * Matches a closing bracket with the last open one of its kind. Brackets of other kinds opened in between stay
   * unmatched. A closing bracket without an open one is ignored.
   */
  #bracket(kind: number): void {
    const index = this.#tokens.length - 1
    const sort = (kind - Kind.LeftParen) >> 1
    const open = this.#openCounts[sort] as number
    if ((kind - Kind.LeftParen) % 2 === 0) {
      this.#openCounts[sort] = open + 1
      this.#openBrackets.push(index)
    } else if (open > 0) this.#close(index, kind - 1)
  }

  #close(index: number, opening: number): void {
    while (true) {
      const last = this.#openBrackets.pop() as number
      const kind = this.#tokens.kind(last)
      const sort = (kind - Kind.LeftParen) >> 1
      this.#openCounts[sort] = (this.#openCounts[sort] as number) - 1
      if (kind !== opening) continue
      this.#tokens.pair(last, index)
      return
    }
  }

  #blockComment(start: number): void {
    const close = this.#source.indexOf('*/', start + 2)
    this.#position = close === -1 ? this.#source.length : close + 2
    this.#report('block comments are not supported', start, start + 2, {
      suggestions: ['begin every line of a comment with //']
    })
  }

  #unknown(start: number): void {
    const source = this.#source
    LETTERS.lastIndex = start
    const word = LETTERS.exec(source)?.[0]
    if (word !== undefined) {
      // The word is one token, so that the parser reports no further error.
      this.#position = start + word.length
      this.#push(Kind.Identifier, start)
      this.#report(`invalid characters in the name \`${shown(word)}\``, start, this.#position, {
        suggestions: ['use only the letters a to z, digits and _ in names']
      })
      return
    }
    if (source.charCodeAt(start) === BACKQUOTE) {
      this.#template(start)
      return
    }
    let end = start
    do end++
    while (end < source.length && this.#isUnknown(end))
    this.#position = end
    const text = source.slice(start, end)
    this.#report(`invalid character${end - start === 1 ? '' : 's'} \`${shown(text)}\``, start, end, {})
  }

  /** A text in backquotes is one token, so that the parser reports no further error. */
  #template(start: number): void {
    const close = this.#source.indexOf('`', start + 1)
    this.#position = close === -1 ? this.#endOfLine(start) : close + 1
    this.#push(Kind.String, start)
    this.#report('a string is not written in backquotes', start, this.#position, {
      suggestions: ['write "…", and insert values with +: "Hello " + name']
    })
  }

  #isUnknown(at: number): boolean {
    const code = this.#source.charCodeAt(at)
    if (code >= 128) return true
    if (code === AT) return classOf(this.#source.charCodeAt(at + 1)) === 0
    const isKnown = CLASS[code] !== 0 || SINGLE[code] !== 0 || isBlank(code) || code === LINE_FEED
    return (
      !isKnown &&
      code !== SEMICOLON &&
      code !== HASH &&
      code !== DOUBLE_QUOTE &&
      code !== SINGLE_QUOTE &&
      code !== AMPERSAND
    )
  }

  #report(message: string, start: number, end: number, details: DiagnosticDetails): void {
    this.#diagnostics.push(diagnostic('E0001', message, { start, end }, details))
  }
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB || code === CARRIAGE_RETURN
}

function shown(text: string): string {
  const short = text.length > 20 ? `${text.slice(0, 20)}…` : text
  return short.replace(/[\p{C}]/gu, character => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
}
