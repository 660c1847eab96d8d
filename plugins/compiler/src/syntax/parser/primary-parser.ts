import type { Param } from '../ast.ts'
import type { Expression, If, Lambda, MatchArm } from '../ast-expressions.ts'
import type { Pattern, Statement } from '../ast-statements.ts'
import { Kind, LAST_SOFT_KEYWORD } from '../token.ts'
import { ExpressionParser } from './expression-parser.ts'
import { PREFIX_LEVEL } from './operators.ts'

/** Parses operands: literals, names, brackets, conditions, loops, lambdas. */
export abstract class PrimaryParser extends ExpressionParser {
  protected primary(): Expression {
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
        return { kind: 'List', id: this.nextId++, start, end: this.lastEnd, items }
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
        return { kind: 'SideEffect', id: this.nextId++, start, end: this.lastEnd, body }
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
      if (this.hasKey())
        return { kind: 'Struct', id: this.nextId++, start, entries: this.entries(), end: this.lastEnd, name }
    }
    if (kind === Kind.Identifier && this.kind === Kind.String && name.text === 'r' && this.start === name.end) {
      this.fail('raw strings are not supported', name, {
        suggestions: ['write \\\\ for a backslash'],
        fixes: [{ label: 'remove the r', span: name, replacement: '' }]
      })
    }
    return { kind: 'Identifier', id: this.nextId++, start, end: name.end, name: name.text }
  }

  #arrow(start: number, params: readonly Param[]): Lambda {
    this.advance()
    const body = this.body()
    return { kind: 'Lambda', id: this.nextId++, start, end: this.lastEnd, form: 'arrow', params, result: null, body }
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
    if (only === undefined) return { kind: 'Unit', id: this.nextId++, start, end }
    const isTuple = items.length > 1 || this.#commaBefore()
    return isTuple
      ? { kind: 'Tuple', id: this.nextId++, start, end, items }
      : { kind: 'Paren', id: this.nextId++, start, end, inner: only }
  }

  /** True if the last bracket follows a comma: `(a,)`. */
  #commaBefore(): boolean {
    return this.position > 1 && this.tokens.kind(this.position - 2) === Kind.Comma
  }

  #braces(): Expression {
    const { start } = this
    if (this.hasKey() || (this.second === Kind.RightBrace && !this.beforeBody)) {
      const entries = this.entries()
      return { kind: 'Object', id: this.nextId++, start, end: this.lastEnd, entries }
    }
    if (!this.beforeBody) return this.block()
    this.failExpecting(['an expression'], '')
    return this.missing()
  }

  #if(): If {
    const { start } = this
    this.advance()
    const condition = this.head()
    // biome-ignore lint/suspicious/noThenProperty: the field holds a branch, not a function
    const node = { kind: 'If', id: this.nextId++, start, condition, then: this.block() } as const
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
      return { kind: 'Match', id: this.nextId++, start, end: this.lastEnd, subject, arms }
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
    return { kind: 'Match', id: this.nextId++, start, end: this.lastEnd, subject, arms }
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
      this.report('E0001', 'write `=>` instead of `->` in an arm of `match`', span, {
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
   * Skips to the next line, or to the brace that closes the list. Skips at least one token if none was read since
   * `before`.
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
    this.expect(Kind.In, 'after the variable of `for`')
    const outer = this.isIterated
    this.isIterated = true
    const iterable = this.head()
    this.isIterated = outer
    let key: Expression | null = null
    if (this.atWord('key') && this.second === Kind.Equal) {
      this.advance()
      this.advance()
      key = this.head()
    }
    const body = this.inPanic ? this.missing() : this.body()
    return { kind: 'For', id: this.nextId++, start, end: this.lastEnd, binding, index, iterable, key, body }
  }

  #lambda(): Lambda {
    const { start } = this
    this.advance()
    const params = this.params()
    const result = this.inPanic ? null : this.result()
    const body = this.inPanic ? this.missing() : this.body()
    return { kind: 'Lambda', id: this.nextId++, start, end: this.lastEnd, form: 'fn', params, result, body }
  }

  #spawn(): Expression {
    const { start } = this
    this.advance()
    if (this.kind === Kind.LeftParen && !this.onNewLine) {
      const targets = this.list(Kind.RightParen, () => this.expression())
      const end = this.lastEnd
      if (targets.length !== 1) this.fail('`spawn` requires exactly one actor', { start, end })
      return { kind: 'Spawn', id: this.nextId++, start, end, target: targets[0] ?? this.missing() }
    }
    const target = this.expression(PREFIX_LEVEL)
    return { kind: 'Spawn', id: this.nextId++, start, end: this.lastEnd, target }
  }
}
