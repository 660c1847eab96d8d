import type { DiagnosticCode } from '../../diagnostics/codes.ts'
import { type Diagnostic, type DiagnosticDetails, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { StringLiteral } from '../ast-expressions.ts'
import type { Name, Span } from '../node.ts'
import { stringValue } from '../string-value.ts'
import { describeKind, Kind, LAST_KEYWORD } from '../token.ts'
import type { TokenList } from '../token-list.ts'

/** Maximum nesting of brackets, blocks and other syntax. */
export const MAX_NESTING = 250
/** Maximum depth of a syntax tree, so that recursive walks are safe. Chains such as `a + b + c` count, too. */
export const MAX_HEIGHT = 1000

/** Bits of {@link Parser.context}. */
/** Line breaks are insignificant: inside parentheses, brackets and object literals. */
export const JOINS_LINES = 1
/** A brace starts the body of the enclosing construct: after `if`, `while`, `match` and `for … in`. */
export const BEFORE_BODY = 2
/** `=>` ends the expression, as in the guard of an arm. */
export const BEFORE_ARROW = 4
/** In the iterable of a loop, `<` starts the repeated element, since a comparison is not iterable. */
export const ITERATED = 8
export const ANY_CONTEXT = JOINS_LINES | BEFORE_BODY | BEFORE_ARROW | ITERATED

export interface ParserOptions {
  /** True if top-level statements are allowed next to declarations, as in a script. */
  readonly script: boolean
  /** True if `@component fn` is accepted; otherwise it is an error. */
  readonly allowComponentFunctions: boolean
}

/**
 * State of one parse: position in the tokens, context, and diagnostics. An error starts panic mode, which suppresses
 * further errors. Panic mode ends when a list finds its next item and calls {@link Parser.recovered}.
 */
export class Parser {
  readonly tokens: TokenList
  readonly options: ParserOptions
  readonly diagnostics: Diagnostic[] = []
  /** Index of the next token. */
  position = 0
  /** Kind of the next token. */
  kind: number
  inPanic = false
  /** Set of context bits. Only {@link within} changes it. */
  context = 0
  /** Maximum height of the nodes that were read since the last reset to 0. */
  height = 0
  /** Id of the next expression, pattern or entry. */
  nextId = 0
  /** Names of the open elements, outermost first. */
  readonly openTags: string[] = []
  #nesting = 0
  #lastError = -1
  #isStopped = false
  /** Number of opening braces without a closing one that explain no error yet; null until it is needed. */
  #missingBraces: number | null = null

  constructor(tokens: TokenList, options: ParserOptions) {
    this.tokens = tokens
    this.options = options
    this.kind = tokens.kind(0)
  }

  /** Offset where the next token begins. */
  get start(): number {
    return this.tokens.start(this.position)
  }

  /** Offset where the last read token ends. */
  get lastEnd(): number {
    return this.position === 0 ? 0 : this.tokens.end(this.position - 1)
  }

  get text(): string {
    return this.tokens.text(this.position)
  }

  /** True if a significant line break precedes the next token. */
  get onNewLine(): boolean {
    return (this.context & JOINS_LINES) === 0 && this.tokens.newlineBefore(this.position)
  }

  /** Kind of the token after the next one. */
  get second(): number {
    return this.tokens.kind(this.position + 1)
  }

  at(kind: number): boolean {
    return this.kind === kind
  }

  /** True if a context bit is set. */
  has(bit: number): boolean {
    return (this.context & bit) !== 0
  }

  advance(): void {
    if (this.kind !== Kind.EndOfFile) this.kind = this.tokens.kind(++this.position)
  }

  moveTo(position: number): void {
    this.position = Math.min(position, this.tokens.length - 1)
    this.kind = this.tokens.kind(this.position)
  }

  accept(kind: number): boolean {
    if (this.kind !== kind) return false
    this.advance()
    return true
  }

  /** Reads a token of this kind. If it is missing, reports an error and reads nothing. */
  expect(kind: number, where: string, details?: DiagnosticDetails): boolean {
    if (this.accept(kind)) return true
    this.failExpecting([describeKind(kind)], where, details)
    return false
  }

  /** True if the next token is the plain word `word`. */
  atWord(word: string): boolean {
    return this.isWord(this.position, word)
  }

  isWord(index: number, word: string): boolean {
    const kind = this.tokens.kind(index)
    if (kind === Kind.EndOfFile || kind > LAST_KEYWORD) return false
    const start = this.tokens.start(index)
    return this.tokens.end(index) - start === word.length && this.tokens.source.startsWith(word, start)
  }

  acceptWord(word: string): boolean {
    if (!this.atWord(word)) return false
    this.advance()
    return true
  }

  /** True if the next token can be a name. Every word can, if the grammar allows only a name. */
  get atName(): boolean {
    return isNameKind(this.kind)
  }

  /** True if a name follows the next token on its line. */
  get isNameAhead(): boolean {
    return isNameKind(this.second) && !this.tokens.newlineBefore(this.position + 1)
  }

  /** True if the line begins with a declaration that a block cannot contain. */
  get atOuterDeclaration(): boolean {
    const at = this.start
    if (at > 0 && !isLineEnd(this.tokens.source.charCodeAt(at - 1))) return false
    switch (this.kind) {
      case Kind.Fn:
      case Kind.Async:
      case Kind.Pub:
      case Kind.Decorator:
      case Kind.Import:
      case Kind.Extern:
        return this.kind !== Kind.Fn || this.isNameAhead
      case Kind.Type:
      case Kind.Actor:
      case Kind.Workflow:
      case Kind.Activity:
      case Kind.Agent:
      case Kind.Component:
        return this.isNameAhead
      default:
        return this.kind === Kind.Http && this.tokens.kind(this.position + 2) === Kind.String
    }
  }

  /** Reads a word of any kind as a name. */
  takeName(): Name {
    const name = { start: this.start, end: this.tokens.end(this.position), text: this.text }
    this.advance()
    return name
  }

  /** Reads a name. If it is missing, reports `description` as expected and returns an empty name. */
  expectName(description: string): Name {
    if (this.atName) return this.takeName()
    this.failExpecting([description], '')
    return this.noName()
  }

  expectTypeName(description: string): Name {
    if (this.kind === Kind.TypeIdentifier) return this.takeName()
    if (this.kind === Kind.Identifier) {
      const { text } = this
      const capital = text.replace(/^_+/, '').replace(/^./, letter => letter.toUpperCase())
      const fixes = [{ label: `write ${capital}`, span: this.here(), replacement: capital }]
      this.report(
        'E0001',
        `the name of ${description} must begin with a capital letter, found \`${text}\``,
        this.here(),
        {
          ...(/^[A-Z]/.test(capital) ? { fixes } : {})
        }
      )
      return this.takeName()
    }
    this.failExpecting([`the name of ${description}`], '')
    return this.noName()
  }

  noName(): Name {
    return { start: this.lastEnd, end: this.lastEnd, text: '' }
  }

  takeString(): StringLiteral {
    const { start, text } = this
    const end = this.tokens.end(this.position)
    this.advance()
    return { kind: 'String', id: this.nextId++, start, end, value: stringValue(text) }
  }

  expectString(description: string): StringLiteral {
    if (this.kind === Kind.String) return this.takeString()
    this.failExpecting([`${description} as a string`], '')
    return { kind: 'String', id: this.nextId++, start: this.lastEnd, end: this.lastEnd, value: '' }
  }

  /** Returns the span of the next token; at the end of the file, a span of zero width after the last token. */
  here(): Span {
    if (this.kind === Kind.EndOfFile) return { start: this.lastEnd, end: this.lastEnd }
    return { start: this.start, end: this.tokens.end(this.position) }
  }

  /** Describes the next token for messages. */
  found(): string {
    if (this.kind === Kind.EndOfFile) return 'the end of the file'
    const { text } = this
    const line = text.slice(0, 30).split(/[\r\n]/, 1)[0] ?? ''
    return line.length < text.length ? `\`${line}…\`` : `\`${text}\``
  }

  failExpecting(expected: readonly string[], where: string, details: DiagnosticDetails = {}): void {
    const list = expected.length < 2 ? expected.join('') : `${expected.slice(0, -1).join(', ')} or ${expected.at(-1)}`
    const message = `expected ${list}${where === '' ? '' : ` ${where}`}, found ${this.found()}`
    const nodeKind = expected[0] === 'an expression' ? 'Expression' : 'ExpectToken'
    this.fail(message, this.here(), { nodeKind, ...details })
  }

  /** Reports an error and enters panic mode. Reports at most one error per position, and none in panic mode. */
  fail(
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

  /** Reports an error without panic mode. */
  report(code: DiagnosticCode, message: string, span: Span, details: DiagnosticDetails = {}): void {
    if (!this.inPanic) this.diagnostics.push(diagnostic(code, message, span, details))
  }

  recovered(): void {
    this.inPanic = this.#isStopped
  }

  /** True if an opening brace of the file is not closed; each call stands for one of them. */
  takeMissingBrace(): boolean {
    if (this.#missingBraces === null) {
      this.#missingBraces = 0
      for (let index = 0; index < this.tokens.length; index++) {
        if (this.tokens.kind(index) === Kind.LeftBrace && this.tokens.partner(index) < 0) this.#missingBraces++
      }
    }
    return this.#missingBraces-- > 0
  }

  /** Skips the next token. An opening bracket is skipped with its content and its closing bracket. */
  skip(): void {
    const partner = this.tokens.partner(this.position)
    if (partner > this.position) this.moveTo(partner + 1)
    else this.advance()
  }

  /**
   * Enters a nesting level. If there are too many, reports an error, returns false, and skips the rest of the file,
   * where errors would be misleading.
   */
  enter(): boolean {
    if (++this.#nesting <= MAX_NESTING) return true
    this.#stop(`the nesting exceeds ${MAX_NESTING} levels`)
    return false
  }

  leave(): void {
    this.#nesting--
  }

  /** Adds a level for a node that contains the last node. */
  grow(): void {
    if (++this.height > MAX_HEIGHT) this.#stop(`the syntax tree exceeds ${MAX_HEIGHT} levels`)
  }

  #stop(message: string): void {
    this.fail(message, this.here(), { suggestions: ['split the code into several functions or values'] })
    this.moveTo(this.tokens.length - 1)
    this.inPanic = true
    this.#isStopped = true
  }
}

/** Parses with context bits set and cleared, and restores the context. Bits in `set` win over bits in `clear`. */
export function within<A>(p: Parser, set: number, clear: number, parse: (p: Parser) => A): A {
  const outer = p.context
  p.context = (outer & ~clear) | set
  const parsed = parse(p)
  p.context = outer
  return parsed
}

export function isNameKind(kind: number): boolean {
  return kind !== Kind.EndOfFile && kind <= LAST_KEYWORD
}

function isLineEnd(code: number): boolean {
  return code === 10 || code === 13
}
