import type { Param } from '../ast.ts'
import type {
  Argument,
  Attribute,
  Expression,
  If,
  Lambda,
  MatchArm,
  ObjectEntry,
  StringLiteral
} from '../ast-expressions.ts'
import type { Block, Pattern, Statement } from '../ast-statements.ts'
import type { Name } from '../node.ts'
import { Kind, LAST_SOFT_KEYWORD } from '../token.ts'
import { isViewTag } from '../view-tags.ts'
import { isNameKind } from './cursor.ts'
import { operatorOf, PREFIX_LEVEL } from './operators.ts'
import { PatternParser } from './pattern-parser.ts'

/** Expressions, by operator precedence. */
export abstract class ExpressionParser extends PatternParser {
  /** Whether what is read is iterated over: then `<` begins the element that is repeated, since no comparison is a list. */
  #isIterated = false

  protected abstract block(): Block
  protected abstract statement(): Statement
  /** The statement that begins with `target`: an assignment to it, or the expression alone. */
  protected abstract statementOf(target: Expression): Statement
  /** Reads an element or a fragment; `<` or `<>` is next. */
  protected abstract markup(): Expression
  /** Reads the braces with the children of an element that is written as a call. */
  protected abstract viewChildren(): Expression[]

  /** Reads an expression of operators that bind more tightly than `level`. */
  protected expression(level = 0): Expression {
    if (!this.enter()) return this.missing()
    const outside = this.height
    this.height = 0
    let left = this.prefix()
    while (true) {
      const found = operatorOf(this.kind)
      if (found === undefined || found.level <= level) break
      if (this.kind !== Kind.Pipe && this.onNewLine) break
      if (this.kind === Kind.Less && this.#isIterated && this.beforeBody) break
      if (this.kind === Kind.AndAnd || this.kind === Kind.BarBar) this.#noteSymbol(found.operator)
      this.advance()
      const right = this.expression(found.level)
      const { start } = left
      const end = this.lastEnd
      left =
        found.operator === 'with'
          ? { kind: 'With', start, end, operand: left, options: right }
          : { kind: 'Binary', start, end, operator: found.operator, left, right }
      this.grow()
    }
    this.grow()
    if (outside > this.height) this.height = outside
    this.leave()
    return left
  }

  /** Reads a condition or a subject: an expression that a body in braces follows. */
  protected head(): Expression {
    const outer = this.beforeBody
    this.beforeBody = true
    const head = this.expression()
    this.beforeBody = outer
    return head
  }

  /**
   * Reads a body that is a block, one expression or one assignment, which is a block without braces then. Braces are a
   * block unless they can only be an object.
   */
  protected body(): Expression {
    if (this.kind === Kind.LeftBrace && !this.#hasKey()) return this.block()
    const value = this.expression()
    const statement = this.statementOf(value)
    if (statement.kind === 'ExpressionStatement') return value
    return { kind: 'Block', start: statement.start, end: statement.end, statements: [statement] }
  }

  protected params(): Param[] {
    if (this.kind === Kind.LeftParen) return this.list(Kind.RightParen, () => this.param())
    this.failExpecting(['`(`'], 'before parameters')
    return []
  }

  protected param(): Param {
    const { start } = this
    const name = this.expectName('the name of a parameter')
    const type = this.accept(Kind.Colon) ? this.type() : null
    const value = this.accept(Kind.Equal) ? this.expression() : null
    return { kind: 'Param', start, end: this.lastEnd, name, type, value }
  }

  protected missing(): Expression {
    return { kind: 'Missing', start: this.lastEnd, end: this.lastEnd }
  }

  /** Entries of an object in braces, which must be next. Commas or line breaks stand between them. */
  protected entries(): ObjectEntry[] {
    const { joinsLines, beforeBody, beforeArrow } = this
    this.joinsLines = true
    this.beforeBody = false
    this.beforeArrow = false
    const opening = this.position
    this.advance()
    const entries: ObjectEntry[] = []
    while (this.kind !== Kind.RightBrace && this.kind !== Kind.EndOfFile) {
      const before = this.position
      entries.push(this.#entry())
      if (this.accept(Kind.Comma) || this.kind === Kind.RightBrace) continue
      if (!this.inPanic && this.tokens.newlineBefore(this.position)) continue
      this.failExpecting(['`,`', '`}`'], 'after an entry of an object')
      if (!this.#toNextEntry(opening) || this.position === before) break
    }
    this.joinsLines = joinsLines
    this.beforeBody = beforeBody
    this.beforeArrow = beforeArrow
    this.closeBrace(opening)
    return entries
  }

  /** Reads the brace that closes the one at `opening`; without one reports it and goes where reading can go on. */
  protected closeBrace(opening: number): void {
    if (this.accept(Kind.RightBrace)) return
    const end = this.tokens.partner(opening)
    const span = { start: this.tokens.start(opening), end: this.tokens.end(opening) }
    this.failExpecting(['`}`'], '', { related: [{ span, message: 'this brace is not closed' }] })
    if (end < this.position) return
    this.moveTo(end + 1)
    this.recovered()
  }

  #toNextEntry(opening: number): boolean {
    const end = this.tokens.partner(opening)
    if (end === -1) return false
    const from = this.position
    while (this.position < end && this.kind !== Kind.Comma) {
      if (this.position > from && this.tokens.newlineBefore(this.position)) break
      this.skip()
    }
    this.recovered()
    this.accept(Kind.Comma)
    return this.position <= end
  }

  #entry(): ObjectEntry {
    const { start } = this
    const key: Name | StringLiteral =
      this.kind === Kind.String ? this.takeString() : this.expectName('the key of an entry')
    const value = this.accept(Kind.Colon) ? this.expression() : null
    return { kind: 'ObjectEntry', start, end: this.lastEnd, key, value }
  }

  #noteSymbol(word: string): void {
    const { text } = this
    const span = this.here()
    this.note('lint.symbol_operator', `\`${text}\` is written \`${word}\``, span, {
      fixes: [{ label: `write ${word}`, span, replacement: word }]
    })
  }

  /** Reads `not`, `-` and the operand behind them. */
  protected prefix(): Expression {
    const { start, kind } = this
    if (kind !== Kind.Not && kind !== Kind.Bang && kind !== Kind.Minus) return this.#postfix(this.#primary())
    if (!this.enter()) return this.missing()
    this.advance()
    const negated = this.kind
    const operand: Expression =
      kind === Kind.Minus && negated === Kind.Int ? this.#postfix(this.literal(true)) : this.prefix()
    this.grow()
    this.leave()
    return { kind: 'Unary', start, end: this.lastEnd, operator: kind === Kind.Minus ? '-' : 'not', operand }
  }

  #postfix(primary: Expression): Expression {
    const { start } = primary
    let left = primary
    while (true) {
      const { kind } = this
      if (kind === Kind.Dot) left = this.#member(left)
      else if (kind !== Kind.LeftParen && kind !== Kind.LeftBracket && kind !== Kind.Question) return left
      else if (this.onNewLine) return left
      else if (kind === Kind.LeftParen) left = this.#call(left)
      else if (kind === Kind.LeftBracket) left = this.#index(left)
      else {
        this.advance()
        left = { kind: 'Try', start, end: this.lastEnd, operand: left }
      }
      this.grow()
    }
  }

  #member(object: Expression): Expression {
    const { start } = object
    this.advance()
    if (this.kind === Kind.Int) {
      const index = Number(this.text)
      this.advance()
      return { kind: 'TupleIndex', start, end: this.lastEnd, object, index }
    }
    const property = this.expectName('the name of a member')
    return { kind: 'Member', start, end: this.lastEnd, object, property }
  }

  #index(object: Expression): Expression {
    const items = this.list(Kind.RightBracket, () => this.expression())
    const { start } = object
    const end = this.lastEnd
    if (items.length !== 1) this.fail('an index is one expression', { start: object.end, end })
    return { kind: 'IndexAccess', start, end, object, index: items[0] ?? this.missing() }
  }

  #call(callee: Expression): Expression {
    const args = this.list(Kind.RightParen, () => this.argument(Kind.Equal))
    const { start } = callee
    const isElement = callee.kind === 'Identifier' && isViewTag(callee.name) && args.every(({ name }) => name !== null)
    const hasChildren = isElement && this.kind === Kind.LeftBrace && !this.beforeBody
    if (!hasChildren && (!isElement || args.length === 0)) {
      return { kind: 'Call', start, end: this.lastEnd, callee, args }
    }
    const tag = { start, end: callee.end, text: callee.name }
    const attributes = args.map(attributeOf)
    const children = hasChildren ? this.viewChildren() : null
    return { kind: 'Element', start, end: this.lastEnd, syntax: 'call', tag, attributes, children }
  }

  /** One argument; `separator` stands between its name and its value. */
  protected argument(separator: number): Argument {
    const { start } = this
    const { second } = this
    const isNamed = this.atName && (second === Kind.Equal || second === separator)
    const name = isNamed ? this.takeName() : null
    if (isNamed) this.advance()
    const value = this.expression()
    return { kind: 'Argument', start, end: this.lastEnd, name, value }
  }

  #primary(): Expression {
    const { start, kind } = this
    switch (kind) {
      case Kind.Int:
      case Kind.Float:
      case Kind.Decimal:
      case Kind.String:
      case Kind.True:
      case Kind.False:
        return this.literal(false)
      case Kind.LeftParen:
        return this.#parentheses()
      case Kind.LeftBracket: {
        const items = this.list(Kind.RightBracket, () => this.expression())
        return { kind: 'List', start, end: this.lastEnd, items }
      }
      case Kind.LeftBrace:
        return this.#braces()
      case Kind.Less:
      case Kind.LessGreater:
        return this.markup()
      case Kind.If:
        return this.#if()
      case Kind.Match:
        return this.#match()
      case Kind.For:
        return this.#for()
      case Kind.Fn:
        return this.#lambda()
      case Kind.Spawn:
        return this.#spawn()
      case Kind.SideEffect: {
        this.advance()
        const body = this.block()
        return { kind: 'SideEffect', start, end: this.lastEnd, body }
      }
      case Kind.Equal:
      case Kind.EqualEqual:
      case Kind.RightBrace:
      case Kind.RightParen:
        this.failExpecting(['an expression'], '')
        return this.missing()
      default:
        return this.#name()
    }
  }

  #name(): Expression {
    const { start, kind } = this
    if (kind === Kind.EndOfFile || kind > LAST_SOFT_KEYWORD) {
      this.failExpecting(['an expression'], '')
      return this.missing()
    }
    if (this.second === Kind.FatArrow && kind !== Kind.TypeIdentifier && !this.beforeArrow) {
      const name = this.takeName()
      const param: Param = { kind: 'Param', start, end: name.end, name, type: null, value: null }
      return this.#arrow(start, [param])
    }
    const name = this.takeName()
    if (kind === Kind.TypeIdentifier && this.kind === Kind.LeftBrace && !this.beforeBody && !this.onNewLine) {
      if (this.#hasKey()) return { kind: 'Struct', start, entries: this.entries(), end: this.lastEnd, name }
    }
    if (kind === Kind.Identifier && this.kind === Kind.String && name.text === 'r' && this.start === name.end) {
      this.fail('there are no raw strings', name, {
        suggestions: ['write \\\\ where a backslash is meant'],
        fixes: [{ label: 'remove the r', span: name, replacement: '' }]
      })
    }
    return { kind: 'Identifier', start, end: name.end, name: name.text }
  }

  #arrow(start: number, params: readonly Param[]): Lambda {
    this.advance()
    const body = this.body()
    return { kind: 'Lambda', start, end: this.lastEnd, form: 'arrow', params, result: null, body }
  }

  #parentheses(): Expression {
    const { start } = this
    const partner = this.tokens.partner(this.position)
    if (partner !== -1 && !this.beforeArrow && this.tokens.kind(partner + 1) === Kind.FatArrow) {
      return this.#arrow(start, this.params())
    }
    const items = this.list(Kind.RightParen, () => this.expression())
    const end = this.lastEnd
    const [only] = items
    if (only === undefined) return { kind: 'Unit', start, end }
    const isTuple = items.length > 1 || this.#commaBefore()
    return isTuple ? { kind: 'Tuple', start, end, items } : { kind: 'Paren', start, end, inner: only }
  }

  /** Whether the bracket that was read last stands behind a comma: `(a,)`. */
  #commaBefore(): boolean {
    return this.position > 1 && this.tokens.kind(this.position - 2) === Kind.Comma
  }

  #braces(): Expression {
    const { start } = this
    if (this.#hasKey() || (this.second === Kind.RightBrace && !this.beforeBody)) {
      const entries = this.entries()
      return { kind: 'Object', start, end: this.lastEnd, entries }
    }
    if (!this.beforeBody) return this.block()
    this.failExpecting(['an expression'], '')
    return this.missing()
  }

  /** Whether the brace that is next opens an object with an entry. */
  #hasKey(): boolean {
    const first = this.tokens.kind(this.position + 1)
    return (first === Kind.String || isNameKind(first)) && this.tokens.kind(this.position + 2) === Kind.Colon
  }

  #if(): If {
    const { start } = this
    this.advance()
    const condition = this.head()
    // biome-ignore lint/suspicious/noThenProperty: the branch is what the field calls it, and is no function
    const node = { kind: 'If', start, condition, then: this.block() } as const
    if (!this.accept(Kind.Else)) return { ...node, else: null, end: this.lastEnd }
    if (this.kind !== Kind.If) return { ...node, else: this.block(), end: this.lastEnd }
    if (!this.enter()) return { ...node, else: null, end: this.lastEnd }
    const other = this.#if()
    this.grow()
    this.leave()
    return { ...node, else: other, end: this.lastEnd }
  }

  #match(): Expression {
    const { start } = this
    this.advance()
    const subject = this.head()
    const arms: MatchArm[] = []
    const opening = this.position
    if (!this.expect(Kind.LeftBrace, 'before the arms of `match`')) {
      return { kind: 'Match', start, end: this.lastEnd, subject, arms }
    }
    const { joinsLines, beforeBody, beforeArrow } = this
    this.joinsLines = false
    this.beforeBody = false
    this.beforeArrow = false
    while (this.kind !== Kind.RightBrace && this.kind !== Kind.EndOfFile) {
      const before = this.position
      arms.push(this.#arm())
      this.accept(Kind.Comma)
      if (this.inPanic || this.position === before) this.toNextLine(before)
    }
    this.joinsLines = joinsLines
    this.beforeBody = beforeBody
    this.beforeArrow = beforeArrow
    this.closeBrace(opening)
    return { kind: 'Match', start, end: this.lastEnd, subject, arms }
  }

  #arm(): MatchArm {
    const { start } = this
    const patterns: Pattern[] = []
    do patterns.push(this.pattern())
    while (this.accept(Kind.Bar))
    let guard: Expression | null = null
    if (this.accept(Kind.If)) {
      this.beforeArrow = true
      guard = this.expression()
      this.beforeArrow = false
    }
    if (this.kind === Kind.Arrow) {
      const span = this.here()
      this.note('E0001', 'an arm of `match` is written with `=>`, not `->`', span, {
        fixes: [{ label: 'write =>', span, replacement: '=>' }]
      })
      this.advance()
    } else this.expect(Kind.FatArrow, 'after the pattern of an arm')
    const body = this.inPanic ? this.missing() : this.#armBody()
    return { kind: 'MatchArm', start, end: this.lastEnd, patterns, guard, body }
  }

  #armBody(): Expression | Statement {
    if (this.kind === Kind.LeftBrace && this.second === Kind.RightBrace) return this.block()
    const statement = this.statement()
    return statement.kind === 'ExpressionStatement' ? statement.expression : statement
  }

  /**
   * Passes what could not be read, up to the next line or the brace that closes the list, and at least one token when
   * none was read since `before`.
   */
  protected toNextLine(before: number): void {
    if (this.position === before) this.skip()
    while (this.kind !== Kind.EndOfFile && this.kind !== Kind.RightBrace) {
      if (this.tokens.newlineBefore(this.position)) break
      this.skip()
    }
    this.recovered()
  }

  #for(): Expression {
    const { start } = this
    this.advance()
    const binding = this.pattern()
    const index = this.accept(Kind.Comma) ? this.expectName('the name of an index') : null
    this.expect(Kind.In, 'after what `for` binds')
    const outer = this.#isIterated
    this.#isIterated = true
    const iterable = this.head()
    this.#isIterated = outer
    let key: Expression | null = null
    if (this.atWord('key') && this.second === Kind.Equal) {
      this.advance()
      this.advance()
      key = this.head()
    }
    const body = this.inPanic ? this.missing() : this.body()
    return { kind: 'For', start, end: this.lastEnd, binding, index, iterable, key, body }
  }

  #lambda(): Lambda {
    const { start } = this
    this.advance()
    const params = this.params()
    const result = this.inPanic ? null : this.result()
    const body = this.inPanic ? this.missing() : this.body()
    return { kind: 'Lambda', start, end: this.lastEnd, form: 'fn', params, result, body }
  }

  #spawn(): Expression {
    const { start } = this
    this.advance()
    if (this.kind === Kind.LeftParen && !this.onNewLine) {
      const targets = this.list(Kind.RightParen, () => this.expression())
      const end = this.lastEnd
      if (targets.length !== 1) this.fail('`spawn` takes one actor', { start, end })
      return { kind: 'Spawn', start, end, target: targets[0] ?? this.missing() }
    }
    const target = this.expression(PREFIX_LEVEL)
    return { kind: 'Spawn', start, end: this.lastEnd, target }
  }
}

function attributeOf({ start, end, name, value }: Argument): Attribute {
  const given = name ?? { start, end: start, text: '' }
  const text = given.text.startsWith('attr_') ? given.text.slice(5) : given.text
  return { kind: 'Attribute', start, end, name: { start: given.start, end: given.end, text }, value }
}
