import type { Attribute, Expression } from '../ast-expressions.ts'
import type { Name } from '../node.ts'
import { Kind } from '../token.ts'
import { isNameKind } from './cursor.ts'
import { PrimaryParser } from './primary-parser.ts'

/** Maximum operator precedence in a child without braces, since `<` and `>` belong to tags. */
const CHILD_LEVEL = 9

/** Parses elements of views, as JSX and as calls. */
export abstract class ViewParser extends PrimaryParser {
  readonly #openTags: string[] = []

  protected markup(): Expression {
    if (!this.enter()) return this.missing()
    const { joinsLines, beforeBody, beforeArrow } = this
    this.joinsLines = false
    this.beforeBody = false
    this.beforeArrow = false
    const node = this.kind === Kind.LessGreater ? this.#fragment() : this.#element()
    this.joinsLines = joinsLines
    this.beforeBody = beforeBody
    this.beforeArrow = beforeArrow
    this.grow()
    this.leave()
    return node
  }

  #fragment(): Expression {
    const { start } = this
    this.advance()
    const children = this.#children(start, '')
    return { kind: 'ElementFragment', id: this.nextId++, start, end: this.lastEnd, children }
  }

  #element(): Expression {
    const { start } = this
    this.advance()
    const tag = this.#compoundName('the name of an element', Kind.Dot, Kind.Minus)
    const attributes: Attribute[] = []
    while (this.atName) attributes.push(this.#attribute())
    const element = { kind: 'Element', id: this.nextId++, start, syntax: 'jsx', tag, attributes } as const
    if (this.accept(Kind.SlashGreater)) return { ...element, children: null, end: this.lastEnd }
    if (!this.accept(Kind.Greater)) {
      this.failExpecting(['an attribute', '`>`', '`/>`'], `in <${tag.text}>`)
      return { ...element, children: null, end: this.lastEnd }
    }
    const children = this.#children(start, tag.text)
    return { ...element, children, end: this.lastEnd }
  }

  /** Reads names joined by one of two signs, without spaces around the signs. */
  #compoundName(description: string, sign: number, other: number): Name {
    const first = this.expectName(description)
    let { end, text } = first
    while ((this.kind === sign || this.kind === other) && isNameKind(this.second)) {
      text += this.text
      this.advance()
      text += this.text
      end = this.tokens.end(this.position)
      this.advance()
    }
    return { start: first.start, end, text }
  }

  #attribute(): Attribute {
    const { start } = this
    const name = this.#compoundName('an attribute', Kind.Colon, Kind.Minus)
    if (!this.accept(Kind.Equal)) return { kind: 'Attribute', start, end: name.end, name, value: null }
    const value = this.#attributeValue()
    return { kind: 'Attribute', start, end: this.lastEnd, name, value }
  }

  #attributeValue(): Expression {
    if (this.kind === Kind.String) return this.takeString()
    return this.kind === Kind.LeftBrace ? this.#braced() : this.prefix()
  }

  /** Parses `{ e }`: an expression, or a block of statements. */
  #braced(): Expression {
    const first = this.second
    const isObject = (first === Kind.String || isNameKind(first)) && this.tokens.kind(this.position + 2) === Kind.Colon
    if (isObject) return this.expression()
    const block = this.block()
    const [only] = block.statements
    return block.statements.length === 1 && only?.kind === 'ExpressionStatement' ? only.expression : block
  }

  #children(start: number, tag: string): Expression[] {
    const children: Expression[] = []
    this.#openTags.push(tag)
    while (this.kind !== Kind.LessSlash && this.kind !== Kind.EndOfFile) {
      const before = this.position
      if (this.kind === Kind.RightBrace || this.kind === Kind.RightParen) break
      children.push(this.#child())
      if (!this.inPanic && this.position !== before) continue
      if (!this.#toNextChild(before)) break
    }
    this.#openTags.pop()
    this.#closingTag(start, tag)
    return children
  }

  #closingTag(start: number, tag: string): void {
    const related = [{ span: { start, end: start + 1 + tag.length }, message: 'opened here' }]
    const { position: slash } = this
    if (!this.accept(Kind.LessSlash)) {
      this.failExpecting([`\`</${tag}>\``], '', { related })
      return
    }
    const from = this.start
    const closing =
      tag === '' && !this.atName ? '' : this.#compoundName('the name of the element', Kind.Dot, Kind.Minus).text
    const span = { start: from, end: this.lastEnd }
    if (closing !== tag && this.#openTags.includes(closing)) {
      this.report('E0001', `\`<${tag}>\` is not closed before \`</${closing}>\``, span, { related })
      this.moveTo(slash)
      return
    }
    if (closing !== tag) {
      const fixes = [{ label: `write ${tag}`, span, replacement: tag }]
      this.report('E0001', `\`</${closing}>\` does not match \`<${tag}>\``, span, { related, fixes })
    }
    this.expect(Kind.Greater, `after \`</${tag}\``)
  }

  /** Skips an invalid child. Returns false if the element probably ends without a closing tag. */
  #toNextChild(before: number): boolean {
    if (this.position === before) this.skip()
    while (this.kind !== Kind.LessSlash && this.kind !== Kind.Less && this.kind !== Kind.EndOfFile) {
      if (this.kind === Kind.RightBrace || this.kind === Kind.RightParen) return false
      if (this.tokens.newlineBefore(this.position)) break
      this.skip()
    }
    this.recovered()
    return true
  }

  #child(): Expression {
    switch (this.kind) {
      case Kind.String:
        return this.takeString()
      case Kind.LeftBrace:
        return this.#braced()
      case Kind.Less:
      case Kind.LessGreater:
        return this.markup()
      default:
        return this.expression(CHILD_LEVEL)
    }
  }

  protected viewChildren(): Expression[] {
    const { joinsLines, beforeBody, beforeArrow, position: opening } = this
    const children: Expression[] = []
    if (!this.enter()) return children
    this.joinsLines = false
    this.beforeBody = false
    this.beforeArrow = false
    this.advance()
    while (this.kind !== Kind.RightBrace && this.kind !== Kind.EndOfFile) {
      const before = this.position
      children.push(this.expression())
      this.accept(Kind.Comma)
      if (this.inPanic || this.position === before) this.toNextLine(before)
    }
    this.joinsLines = joinsLines
    this.beforeBody = beforeBody
    this.beforeArrow = beforeArrow
    this.closeBrace(opening)
    this.leave()
    return children
  }
}
