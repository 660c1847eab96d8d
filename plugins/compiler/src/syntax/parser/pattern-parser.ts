import type { LiteralPattern, Pattern } from '../ast-statements.ts'
import { Kind } from '../token.ts'
import { TypeParser } from './type-parser.ts'

/** Parses patterns and literals. */
export abstract class PatternParser extends TypeParser {
  protected pattern(): Pattern {
    if (!this.enter()) return this.#noPattern()
    const pattern = this.#pattern()
    this.leave()
    return pattern
  }

  #pattern(): Pattern {
    const { start } = this
    switch (this.kind) {
      case Kind.Underscore:
        this.advance()
        return { kind: 'WildcardPattern', id: this.nextId++, start, end: this.lastEnd }
      case Kind.LeftParen: {
        const items = this.list(Kind.RightParen, () => this.pattern())
        const [only] = items
        if (items.length === 1 && only !== undefined) return only
        return { kind: 'TuplePattern', id: this.nextId++, start, end: this.lastEnd, items }
      }
      case Kind.TypeIdentifier: {
        const name = this.takeName()
        const args =
          this.at(Kind.LeftParen) && !this.onNewLine ? this.list(Kind.RightParen, () => this.pattern()) : null
        return { kind: 'ConstructorPattern', id: this.nextId++, start, end: this.lastEnd, name, args }
      }
      case Kind.Minus: {
        this.advance()
        if (this.at(Kind.Int) || this.at(Kind.Float) || this.at(Kind.Decimal)) {
          return this.#literal(start, true)
        }
        this.failExpecting(['a number'], 'after `-`')
        return this.#noPattern()
      }
      case Kind.Int:
      case Kind.Float:
      case Kind.Decimal:
      case Kind.String:
      case Kind.True:
      case Kind.False:
        return this.#literal(start, false)
      default:
        if (this.atName) {
          const name = this.takeName()
          return { kind: 'BindingPattern', id: this.nextId++, start, end: name.end, name }
        }
        this.failExpecting(['a pattern'], '')
        return this.#noPattern()
    }
  }

  #literal(start: number, isNegative: boolean): LiteralPattern {
    const value = this.literal(isNegative)
    return { kind: 'LiteralPattern', id: this.nextId++, start, end: value.end, isNegative, value }
  }

  /** Parses the next literal: a number, a string, `true` or `false`. */
  protected literal(isNegative: boolean): LiteralPattern['value'] {
    const { start, kind } = this
    if (kind === Kind.String) return this.takeString()
    const { text } = this
    const end = this.tokens.end(this.position)
    if (kind === Kind.Int) this.#checkRange(text, isNegative)
    if (kind === Kind.Float && !Number.isFinite(Number(text))) {
      this.report('E0001', 'this number exceeds the maximum float', this.here(), {
        suggestions: ['use a dec for larger numbers']
      })
    }
    this.advance()
    if (kind === Kind.Int) return { kind: 'Int', id: this.nextId++, start, end, digits: text }
    if (kind === Kind.Float) return { kind: 'Float', id: this.nextId++, start, end, digits: text }
    if (kind === Kind.Decimal) return { kind: 'Decimal', id: this.nextId++, start, end, digits: text.slice(0, -3) }
    return { kind: 'Bool', id: this.nextId++, start, end, value: kind === Kind.True }
  }

  #checkRange(digits: string, isNegative: boolean): void {
    if (digits.length < 19) return
    const significant = digits.replace(/^0+/, '')
    const limit = isNegative ? '9223372036854775808' : '9223372036854775807'
    if (significant.length < 19 || (significant.length === 19 && significant <= limit)) return
    this.report('E0001', `${isNegative ? '-' : ''}${digits} does not fit into an int of 64 bits`, this.here(), {
      suggestions: [`the ${isNegative ? 'minimum int is -' : 'maximum int is '}${limit}; use a dec for larger numbers`]
    })
  }

  #noPattern(): Pattern {
    return { kind: 'WildcardPattern', id: this.nextId++, start: this.lastEnd, end: this.lastEnd }
  }
}
