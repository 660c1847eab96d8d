import type { DiagnosticCode } from '../../diagnostics/codes.ts'
import { type Diagnostic, type DiagnosticDetails, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { StringLiteral } from '../ast-expressions.ts'
import type { Name, Span } from '../node.ts'
import { stringValue } from '../string-value.ts'
import { describeKind, Kind, LAST_KEYWORD } from '../token.ts'
import type { TokenList } from '../token-list.ts'

/** Maximum nesting of brackets, blocks and other syntax. */
export const MAX_NESTING = 250
/** Maximum depth of a syntax tree, chains such as `a + b + c` included, so that recursive walks are safe. */
export const MAX_HEIGHT = 1000

/**
 * Reads a list of tokens. An error starts panic mode, which suppresses further errors. It ends when the reader of a
 * list finds the next item and calls {@link recovered}.
 */
export abstract class Cursor {
  readonly tokens: TokenList
  readonly diagnostics: Diagnostic[] = []
  /** Index of the next token. */
  protected position = 0
  /** Kind of the next token. */
  protected kind: number
  protected inPanic = false
  /** True if line breaks are insignificant: inside parentheses, brackets and object literals. */
  protected joinsLines = false
  /** True if a brace starts the body of the construct: after `if`, `while`, `match` and `for … in`. */
  protected beforeBody = false
  /** True if `=>` ends the expression: in the guard of an arm. */
  protected beforeArrow = false
  /** Maximum height of the nodes read since the last reset to 0. */
  protected height = 0
  #nesting = 0
  #lastError = -1
  #isStopped = false

  constructor(tokens: TokenList) {
    this.tokens = tokens
    this.kind = tokens.kind(0)
  }

  /** Offset where the next token begins. */
  protected get start(): number {
    return this.tokens.start(this.position)
  }

  /** Offset where the last token that was read ends. */
  protected get lastEnd(): number {
    return this.position === 0 ? 0 : this.tokens.end(this.position - 1)
  }

  protected get text(): string {
    return this.tokens.text(this.position)
  }

  /** True if a significant line break precedes the next token. */
  protected get onNewLine(): boolean {
    return !this.joinsLines && this.tokens.newlineBefore(this.position)
  }

  /** Kind of the token after the next one. */
  protected get second(): number {
    return this.tokens.kind(this.position + 1)
  }

  protected at(kind: number): boolean {
    return this.kind === kind
  }

  protected advance(): void {
    if (this.kind !== Kind.EndOfFile) this.kind = this.tokens.kind(++this.position)
  }

  protected moveTo(position: number): void {
    this.position = Math.min(position, this.tokens.length - 1)
    this.kind = this.tokens.kind(this.position)
  }

  protected accept(kind: number): boolean {
    if (this.kind !== kind) return false
    this.advance()
    return true
  }

  /** Reads a token of this kind; if it is missing, reports that and reads nothing. */
  protected expect(kind: number, where: string, details?: DiagnosticDetails): boolean {
    if (this.accept(kind)) return true
    this.failExpecting([describeKind(kind)], where, details)
    return false
  }

  /** True if the next token is the plain word `word`. */
  protected atWord(word: string): boolean {
    return this.isWord(this.position, word)
  }

  protected isWord(index: number, word: string): boolean {
    const kind = this.tokens.kind(index)
    if (kind === Kind.EndOfFile || kind > LAST_KEYWORD) return false
    const start = this.tokens.start(index)
    return this.tokens.end(index) - start === word.length && this.tokens.source.startsWith(word, start)
  }

  protected acceptWord(word: string): boolean {
    if (!this.atWord(word)) return false
    this.advance()
    return true
  }

  /** True if the next token can be a name where only a name is allowed; any word can. */
  protected get atName(): boolean {
    return isNameKind(this.kind)
  }

  /** Reads a word of any kind as a name. */
  protected takeName(): Name {
    const name = { start: this.start, end: this.tokens.end(this.position), text: this.text }
    this.advance()
    return name
  }

  /** Reads a name; if it is missing, reports `what` and returns an empty name. */
  protected expectName(what: string): Name {
    if (this.atName) return this.takeName()
    this.failExpecting([what], '')
    return this.noName()
  }

  protected expectTypeName(what: string): Name {
    if (this.kind === Kind.TypeIdentifier) return this.takeName()
    if (this.kind === Kind.Identifier) {
      const { text } = this
      const capital = text.replace(/^_+/, '').replace(/^./, letter => letter.toUpperCase())
      const fixes = [{ label: `call it ${capital}`, span: this.here(), replacement: capital }]
      this.note('E0001', `the name of ${what} begins with a capital letter, \`${text}\` does not`, this.here(), {
        ...(/^[A-Z]/.test(capital) ? { fixes } : {})
      })
      return this.takeName()
    }
    this.failExpecting([`the name of ${what}`], '')
    return this.noName()
  }

  protected noName(): Name {
    return { start: this.lastEnd, end: this.lastEnd, text: '' }
  }

  protected takeString(): StringLiteral {
    const { start, text } = this
    const end = this.tokens.end(this.position)
    this.advance()
    return { kind: 'String', start, end, value: stringValue(text) }
  }

  protected expectString(what: string): StringLiteral {
    if (this.kind === Kind.String) return this.takeString()
    this.failExpecting([`${what} as a string`], '')
    return { kind: 'String', start: this.lastEnd, end: this.lastEnd, value: '' }
  }

  /** Span of the next token; at the end of the file, zero width after the last token. */
  protected here(): Span {
    if (this.kind === Kind.EndOfFile) return { start: this.lastEnd, end: this.lastEnd }
    return { start: this.start, end: this.tokens.end(this.position) }
  }

  /** The next token, as named in messages. */
  protected found(): string {
    if (this.kind === Kind.EndOfFile) return 'the end of the file'
    const { text } = this
    const line = text.slice(0, 30).split(/[\r\n]/, 1)[0] ?? ''
    return line.length < text.length ? `\`${line}…\`` : `\`${text}\``
  }

  protected failExpecting(expected: readonly string[], where: string, details: DiagnosticDetails = {}): void {
    const wanted = expected.length < 2 ? expected.join('') : `${expected.slice(0, -1).join(', ')} or ${expected.at(-1)}`
    const message = `expected ${wanted}${where === '' ? '' : ` ${where}`}, found ${this.found()}`
    const nodeKind = expected[0] === 'an expression' ? 'Expression' : 'ExpectToken'
    this.fail(message, this.here(), { nodeKind, ...details })
  }

  /** Reports an error and enters panic mode. Reports nothing in panic mode, and at most one error per position. */
  protected fail(
    message: string,
    span: Span = this.here(),
    details: DiagnosticDetails = {},
    code: DiagnosticCode = 'E0001'
  ): void {
    if (this.inPanic) return
    this.inPanic = true
    if (this.#lastError === this.position) return
    this.#lastError = this.position
    this.diagnostics.push(diagnostic(code, message, span, details))
  }

  /** Reports an error after which parsing goes on. */
  protected note(code: DiagnosticCode, message: string, span: Span, details: DiagnosticDetails = {}): void {
    if (!this.inPanic) this.diagnostics.push(diagnostic(code, message, span, details))
  }

  protected recovered(): void {
    this.inPanic = this.#isStopped
  }

  /** Skips the next token; an opening bracket with everything up to its partner. */
  protected skip(): void {
    const partner = this.tokens.partner(this.position)
    if (partner > this.position) this.moveTo(partner + 1)
    else this.advance()
  }

  /**
   * Enters a nesting level; false if there are too many. The rest of the file is then skipped: any message about
   * it would be wrong.
   */
  protected enter(): boolean {
    if (++this.#nesting <= MAX_NESTING) return true
    this.#stop(`this is nested more than ${MAX_NESTING} levels deep`)
    return false
  }

  protected leave(): void {
    this.#nesting--
  }

  /** Adds one level on top of the last node. */
  protected grow(): void {
    if (++this.height > MAX_HEIGHT) this.#stop(`this has more than ${MAX_HEIGHT} levels`)
  }

  #stop(message: string): void {
    this.fail(message, this.here(), { suggestions: ['break it into several functions or values'] })
    this.moveTo(this.tokens.length - 1)
    this.inPanic = true
    this.#isStopped = true
  }
}

export function isNameKind(kind: number): boolean {
  return kind !== Kind.EndOfFile && kind <= LAST_KEYWORD
}
