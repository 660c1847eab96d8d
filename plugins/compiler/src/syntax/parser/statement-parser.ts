import type { Expression } from '../ast-expressions.ts'
import type { Assign, Block, Let, Statement } from '../ast-statements.ts'
import { Kind } from '../token.ts'
import { ViewParser } from './view-parser.ts'

const ASSIGNMENTS: Readonly<Record<number, Assign['operator']>> = {
  [Kind.Equal]: '=',
  [Kind.PlusEqual]: '+=',
  [Kind.MinusEqual]: '-=',
  [Kind.StarEqual]: '*=',
  [Kind.SlashEqual]: '/='
}

/** Parses statements and blocks. */
export abstract class StatementParser extends ViewParser {
  /** True if the line begins with a declaration that a block cannot contain. */
  protected abstract atOuterDeclaration(): boolean

  protected block(): Block {
    const { start, position: opening } = this
    const statements: Statement[] = []
    if (!this.enter()) return { kind: 'Block', id: this.nextId++, start, end: start, statements }
    if (this.expect(Kind.LeftBrace, 'before a block')) {
      const { joinsLines, beforeBody, beforeArrow } = this
      this.joinsLines = false
      this.beforeBody = false
      this.beforeArrow = false
      this.#statements(opening, statements)
      this.joinsLines = joinsLines
      this.beforeBody = beforeBody
      this.beforeArrow = beforeArrow
    }
    this.leave()
    return { kind: 'Block', id: this.nextId++, start, end: Math.max(start, this.lastEnd), statements }
  }

  #statements(opening: number, statements: Statement[]): void {
    while (this.kind !== Kind.RightBrace && this.kind !== Kind.EndOfFile) {
      if (this.tokens.newlineBefore(this.position) && this.atOuterDeclaration()) {
        this.missesBrace(opening)
        return
      }
      const before = this.position
      statements.push(this.statement())
      this.accept(Kind.Comma)
      if (this.inPanic || this.position === before) this.toNextLine(before)
    }
    this.closeBrace(opening)
  }

  protected missesBrace(opening: number): void {
    const span = { start: this.tokens.start(opening), end: this.tokens.end(opening) }
    this.fail('an opening brace is not closed before this declaration', this.here(), {
      related: [{ span, message: 'this brace is not closed' }],
      suggestions: ['write `}` before it']
    })
  }

  protected statement(): Statement {
    const { start } = this
    switch (this.kind) {
      case Kind.Let:
        return this.letStatement()
      case Kind.Return: {
        this.advance()
        const value = this.#endsStatement() ? null : this.expression()
        return { kind: 'Return', start, end: this.lastEnd, value }
      }
      case Kind.While: {
        this.advance()
        const condition = this.head()
        const body = this.block()
        return { kind: 'While', start, end: this.lastEnd, condition, body }
      }
      case Kind.Loop: {
        this.advance()
        const body = this.block()
        return { kind: 'Loop', start, end: this.lastEnd, body }
      }
      case Kind.Break:
        this.advance()
        return { kind: 'Break', start, end: this.lastEnd }
      case Kind.Continue:
        this.advance()
        return { kind: 'Continue', start, end: this.lastEnd }
      default:
        return this.statementOf(this.expression())
    }
  }

  /** Parses a `let` statement; `let` is next. */
  protected letStatement(): Let {
    const { start } = this
    this.advance()
    const isMutable = this.accept(Kind.Mut)
    const pattern = this.pattern()
    const type = this.accept(Kind.Colon) ? this.type() : null
    this.expect(Kind.Equal, 'after the name in `let`')
    const value = this.inPanic ? this.missing() : this.expression()
    return { kind: 'Let', start, end: this.lastEnd, form: 'let', isMutable, pattern, type, value }
  }

  #endsStatement(): boolean {
    const { kind } = this
    return kind === Kind.RightBrace || kind === Kind.Comma || kind === Kind.EndOfFile || this.onNewLine
  }

  protected statementOf(target: Expression): Statement {
    const { start } = target
    const operator = ASSIGNMENTS[this.kind]
    if (operator === undefined || this.onNewLine) {
      return { kind: 'ExpressionStatement', start, end: target.end, expression: target }
    }
    if (!isAssignable(target.kind)) this.report('E0001', 'cannot assign to this expression', target)
    this.advance()
    const value = this.expression()
    return { kind: 'Assign', start, end: this.lastEnd, target, operator, value }
  }
}

function isAssignable(kind: string): boolean {
  return (
    kind === 'Identifier' || kind === 'Member' || kind === 'IndexAccess' || kind === 'TupleIndex' || kind === 'Missing'
  )
}
