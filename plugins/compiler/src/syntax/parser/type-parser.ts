import type { NamedType, Type } from '../ast-types.ts'
import type { Name } from '../node.ts'
import { describeKind, Kind } from '../token.ts'
import { Cursor } from './cursor.ts'

/** Parses types, and lists that all parts of the grammar share. */
export abstract class TypeParser extends Cursor {
  protected type(): Type {
    if (!this.enter()) return this.noType()
    const { start } = this
    let type = this.#plainType()
    if (this.kind === Kind.Question && !this.onNewLine) {
      this.advance()
      type = { kind: 'OptionalType', start, end: this.lastEnd, inner: type }
    }
    this.leave()
    return type
  }

  /** Parses the result type `to T` or `-> T`, if present. */
  protected result(): Type | null {
    if (this.kind !== Kind.To && this.kind !== Kind.Arrow) return null
    this.advance()
    return this.type()
  }

  /**
   * Parses comma-separated items and both of their brackets. The opening bracket is next. Line breaks are
   * insignificant.
   */
  protected list<A>(closing: number, item: () => A): A[] {
    const { joinsLines, beforeBody, beforeArrow, position: opening } = this
    this.joinsLines = true
    this.beforeBody = false
    this.beforeArrow = false
    this.advance()
    const items: A[] = []
    while (this.kind !== closing && this.kind !== Kind.EndOfFile) {
      items.push(item())
      if (!this.inPanic) {
        if (this.accept(Kind.Comma)) continue
        if (this.kind === closing) break
        this.failExpecting([describeKind(Kind.Comma), describeKind(closing)], '')
      }
      if (!this.#toNextItem(opening)) break
    }
    this.joinsLines = joinsLines
    this.beforeBody = beforeBody
    this.beforeArrow = beforeArrow
    if (this.kind === closing) this.advance()
    else this.#unclosed(opening, closing)
    return items
  }

  /** Skips the rest of an invalid item. Returns false after the last item. */
  #toNextItem(opening: number): boolean {
    const end = this.tokens.partner(opening)
    if (end === -1) return false
    while (this.position < end && this.kind !== Kind.Comma) this.skip()
    this.recovered()
    return this.accept(Kind.Comma)
  }

  #unclosed(opening: number, closing: number): void {
    const end = this.tokens.partner(opening)
    if (end >= this.position) {
      this.moveTo(end + 1)
      this.recovered()
    } else {
      const span = { start: this.tokens.start(opening), end: this.tokens.end(opening) }
      this.failExpecting([describeKind(closing)], '', { related: [{ span, message: 'opened here' }] })
    }
  }

  protected noType(): Type {
    return { kind: 'InferType', start: this.lastEnd, end: this.lastEnd }
  }

  #plainType(): Type {
    const { start } = this
    switch (this.kind) {
      case Kind.Underscore:
        this.advance()
        return { kind: 'InferType', start, end: this.lastEnd }
      case Kind.LeftParen:
        return this.#tuple()
      case Kind.LeftBracket:
        return this.#bracketList()
      case Kind.Fn: {
        this.advance()
        if (!this.at(Kind.LeftParen)) {
          this.failExpecting([describeKind(Kind.LeftParen)], 'after `fn` of a type')
          return this.noType()
        }
        const params = this.list(Kind.RightParen, () => this.type())
        const result = this.result()
        return { kind: 'FunctionType', start, end: this.lastEnd, params, result }
      }
      default:
        if (this.atName) return this.#named()
        this.failExpecting(['a type'], '')
        return this.noType()
    }
  }

  #tuple(): Type {
    const { start } = this
    const items = this.list(Kind.RightParen, () => this.type())
    const end = this.lastEnd
    if (items.length === 0) return { kind: 'UnitType', start, end }
    const [only] = items
    return items.length === 1 && only !== undefined ? only : { kind: 'TupleType', start, end, items }
  }

  #bracketList(): NamedType {
    const { start } = this
    this.advance()
    const item = this.type()
    this.expect(Kind.RightBracket, 'after the type of a list')
    return {
      kind: 'NamedType',
      start,
      end: this.lastEnd,
      path: [{ start, end: start + 1, text: 'List' }],
      args: [item]
    }
  }

  #named(): Type {
    const { start } = this
    const first = this.takeName()
    if (first.text === 'dec') return { kind: 'DecimalType', start, end: first.end }
    const path: Name[] = [first]
    while (this.kind === Kind.Dot && !this.onNewLine) {
      this.advance()
      path.push(this.expectName('a name'))
    }
    const args = this.onNewLine ? [] : this.#typeArguments()
    return { kind: 'NamedType', start, end: this.lastEnd, path, args }
  }

  #typeArguments(): Type[] {
    if (this.kind === Kind.LeftBracket) return this.list(Kind.RightBracket, () => this.#typeArgument())
    return this.kind === Kind.Less ? this.list(Kind.Greater, () => this.#typeArgument()) : []
  }

  #typeArgument(): Type {
    if (this.kind !== Kind.Int) return this.type()
    const { start, text } = this
    this.advance()
    return { kind: 'SizeType', start, end: this.lastEnd, size: Number(text) }
  }
}
