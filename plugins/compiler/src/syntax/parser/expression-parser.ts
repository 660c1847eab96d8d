import type { Param } from '../ast.ts'
import type { Argument, Attribute, Expression, ObjectEntry, StringLiteral } from '../ast-expressions.ts'
import type { Block, Statement } from '../ast-statements.ts'
import type { Name } from '../node.ts'
import { Kind } from '../token.ts'
import { isViewTag } from '../view-tags.ts'
import { isNameKind } from './cursor.ts'
import { operatorOf } from './operators.ts'
import { PatternParser } from './pattern-parser.ts'

/** Parses operators, calls, members, and nodes with lists of expressions. */
export abstract class ExpressionParser extends PatternParser {
  /** True in the iterable of a loop, where `<` starts the repeated element, since a comparison is not iterable. */
  protected isIterated = false

  /** Parses an operand without prefix and postfix operators. */
  protected abstract primary(): Expression
  protected abstract block(): Block
  protected abstract statement(): Statement
  /** Parses the statement that starts with `target`: an assignment to it, or the expression itself. */
  protected abstract statementOf(target: Expression): Statement
  /** Parses an element or a fragment. `<` or `<>` is next. */
  protected abstract markup(): Expression
  /** Parses the block of children of an element call. */
  protected abstract viewChildren(): Expression[]

  /** Parses an expression of operators that bind tighter than `level`. */
  protected expression(level = 0): Expression {
    if (!this.enter()) return this.missing()
    const outside = this.height
    this.height = 0
    let left = this.prefix()
    while (true) {
      const found = operatorOf(this.kind)
      if (found === undefined || found.level <= level) break
      if (this.kind !== Kind.Pipe && this.onNewLine) break
      if (this.kind === Kind.Less && this.isIterated && this.beforeBody) break
      if (this.kind === Kind.AndAnd || this.kind === Kind.BarBar) this.#noteSymbol(found.operator)
      this.advance()
      const right = this.expression(found.level)
      const { start } = left
      const end = this.lastEnd
      left =
        found.operator === 'with'
          ? { kind: 'With', id: this.nextId++, start, end, operand: left, options: right }
          : { kind: 'Binary', id: this.nextId++, start, end, operator: found.operator, left, right }
      this.grow()
    }
    this.grow()
    if (outside > this.height) this.height = outside
    this.leave()
    return left
  }

  /** Parses a condition or a subject, followed by a body in braces. */
  protected head(): Expression {
    const outer = this.beforeBody
    this.beforeBody = true
    const head = this.expression()
    this.beforeBody = outer
    return head
  }

  /**
   * Parses a body: a block, one expression, or one assignment (a block without braces). Braces are a block unless they
   * can only be an object.
   */
  protected body(): Expression {
    if (this.kind === Kind.LeftBrace && !this.hasKey()) return this.block()
    const value = this.expression()
    const statement = this.statementOf(value)
    if (statement.kind === 'ExpressionStatement') return value
    return { kind: 'Block', id: this.nextId++, start: statement.start, end: statement.end, statements: [statement] }
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
    return { kind: 'Missing', id: this.nextId++, start: this.lastEnd, end: this.lastEnd }
  }

  /** Parses the entries of an object, separated by commas or line breaks. The opening brace is next. */
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

  /** Reads the brace that closes the one at `opening`. If it is missing, reports an error and resynchronises. */
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
    return { kind: 'ObjectEntry', id: this.nextId++, start, end: this.lastEnd, key, value }
  }

  #noteSymbol(word: string): void {
    const { text } = this
    const span = this.here()
    this.report('lint.symbol_operator', `write \`${word}\` instead of \`${text}\``, span, {
      fixes: [{ label: `write ${word}`, span, replacement: word }]
    })
  }

  /** Parses `not` or `-` with its operand. */
  protected prefix(): Expression {
    const { start, kind } = this
    if (kind !== Kind.Not && kind !== Kind.Bang && kind !== Kind.Minus) return this.#postfix(this.primary())
    if (!this.enter()) return this.missing()
    this.advance()
    const negated = this.kind
    const operand: Expression =
      kind === Kind.Minus && negated === Kind.Int ? this.#postfix(this.literal(true)) : this.prefix()
    this.grow()
    this.leave()
    return {
      kind: 'Unary',
      id: this.nextId++,
      start,
      end: this.lastEnd,
      operator: kind === Kind.Minus ? '-' : 'not',
      operand
    }
  }

  #postfix(primary: Expression): Expression {
    const { start } = primary
    let left = primary
    while (true) {
      const { kind } = this
      if (kind === Kind.Dot) left = this.#member(left)
      else if (kind === Kind.Bang && !this.onNewLine && this.#atMessage(this.position + 1)) {
        const { start: from } = this
        this.advance()
        left = this.#message(left, { start: from, end: this.lastEnd, text: 'send' })
      } else if (kind !== Kind.LeftParen && kind !== Kind.LeftBracket && kind !== Kind.Question) return left
      else if (this.onNewLine) return left
      else if (kind === Kind.LeftParen) left = this.#call(left)
      else if (kind === Kind.LeftBracket) left = this.#index(left)
      else {
        this.advance()
        left = { kind: 'Try', id: this.nextId++, start, end: this.lastEnd, operand: left }
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
      return { kind: 'TupleIndex', id: this.nextId++, start, end: this.lastEnd, object, index }
    }
    if (this.onNewLine) {
      this.fail('expected the name of a member after the dot', { start: this.lastEnd - 1, end: this.lastEnd })
      return { kind: 'Member', id: this.nextId++, start, end: this.lastEnd, object, property: this.noName() }
    }
    const property = this.expectName('the name of a member')
    if (property.text === 'send' && !this.onNewLine && this.#atMessage(this.position)) {
      return this.#message(object, property)
    }
    return { kind: 'Member', id: this.nextId++, start, end: this.lastEnd, object, property }
  }

  #atMessage(position: number): boolean {
    const { tokens } = this
    return tokens.kind(position) === Kind.Identifier && tokens.kind(position + 1) === Kind.LeftParen
  }

  /** Parses `h.send event(args)` and `h ! event(args)` as `h.send("event", args)`. */
  #message(object: Expression, property: Name): Expression {
    const { start, end, text: value } = this.takeName()
    const event: Argument = {
      kind: 'Argument',
      start,
      end,
      name: null,
      value: { kind: 'String', id: this.nextId++, start, end, value }
    }
    const args = this.list(Kind.RightParen, () => this.argument(Kind.Equal))
    const callee: Expression = {
      kind: 'Member',
      id: this.nextId++,
      start: object.start,
      end: property.end,
      object,
      property
    }
    return { kind: 'Call', id: this.nextId++, start: object.start, end: this.lastEnd, callee, args: [event, ...args] }
  }

  #index(object: Expression): Expression {
    const items = this.list(Kind.RightBracket, () => this.expression())
    const { start } = object
    const end = this.lastEnd
    if (items.length !== 1) this.fail('an index must be a single expression', { start: object.end, end })
    return { kind: 'IndexAccess', id: this.nextId++, start, end, object, index: items[0] ?? this.missing() }
  }

  #call(callee: Expression): Expression {
    const args = this.list(Kind.RightParen, () => this.argument(Kind.Equal))
    const { start } = callee
    const isElement = callee.kind === 'Identifier' && isViewTag(callee.name) && args.every(({ name }) => name !== null)
    const hasChildren = isElement && this.kind === Kind.LeftBrace && !this.beforeBody
    if (!hasChildren && (!isElement || args.length === 0)) {
      return { kind: 'Call', id: this.nextId++, start, end: this.lastEnd, callee, args }
    }
    const tag = { start, end: callee.end, text: callee.name }
    const attributes = args.map(attributeOf)
    const children = hasChildren ? this.viewChildren() : null
    return { kind: 'Element', id: this.nextId++, start, end: this.lastEnd, syntax: 'call', tag, attributes, children }
  }

  /** Parses an argument. `separator` is the token between its name and its value. */
  protected argument(separator: number): Argument {
    const { start } = this
    const { second } = this
    const isNamed = this.atName && (second === Kind.Equal || second === separator)
    const name = isNamed ? this.takeName() : null
    if (isNamed) this.advance()
    const value = this.expression()
    return { kind: 'Argument', start, end: this.lastEnd, name, value }
  }

  /** True if the next brace starts an object: `{ a: …` or `{ a, b: …`. */
  protected hasKey(): boolean {
    const { tokens } = this
    for (let at = this.position + 1; ; at += 2) {
      const [kind, next] = [tokens.kind(at), tokens.kind(at + 1)]
      if (next === Kind.Colon) return kind === Kind.String || isNameKind(kind)
      if (next !== Kind.Comma || !isNameKind(kind)) return false
    }
  }
}

function attributeOf({ start, end, name, value }: Argument): Attribute {
  const writtenName = name ?? { start, end: start, text: '' }
  const text = writtenName.text.startsWith('attr_') ? writtenName.text.slice(5) : writtenName.text
  return { kind: 'Attribute', start, end, name: { start: writtenName.start, end: writtenName.end, text }, value }
}
