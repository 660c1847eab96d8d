import type { Decorator, Field, Index, Table, TypeDeclaration, TypeDefinition, Variant } from '../ast.ts'
import type { Name } from '../node.ts'
import { Kind } from '../token.ts'
import { DecoratorParser } from './decorator-parser.ts'

/** The parsed beginning of a declaration: its start, decorators and `pub`. */
export interface Prefix {
  readonly start: number
  /** Decorators, without the one that begins the declaration. */
  readonly decorators: readonly Decorator[]
  readonly isPublic: boolean
}

/** Parses types, tables and indexes. */
export abstract class TypeDeclarationParser extends DecoratorParser {
  /** Parses a type declaration; `type` is next. */
  protected typeDeclaration({ start, ...prefix }: Prefix): TypeDeclaration {
    this.advance()
    const name = this.expectTypeName('a type')
    const generics = this.generics()
    const definition = this.inPanic ? ({ form: 'struct', fields: [] } as const) : this.#definition()
    return { kind: 'Type', start, end: this.lastEnd, ...prefix, name, generics, definition }
  }

  protected generics(): Name[] {
    if (this.kind === Kind.LeftBracket) return this.list(Kind.RightBracket, () => this.expectName('the name of a type'))
    if (this.kind === Kind.Less) return this.list(Kind.Greater, () => this.expectName('the name of a type'))
    return []
  }

  #definition(): TypeDefinition {
    if (this.kind === Kind.LeftBrace) return { form: 'struct', fields: this.fields(false) }
    if (!this.accept(Kind.Equal)) {
      this.failExpecting(['`=`', '`{`'], 'after the name of a type')
      return { form: 'struct', fields: [] }
    }
    return this.#atVariant() ? { form: 'variants', variants: this.#variants() } : { form: 'alias', type: this.type() }
  }

  #atVariant(): boolean {
    if (this.kind === Kind.Bar) return true
    return this.atName && (this.second === Kind.Bar || (this.second === Kind.LeftParen && this.kind !== Kind.Fn))
  }

  #variants(): Variant[] {
    const variants: Variant[] = []
    this.accept(Kind.Bar)
    do variants.push(this.#variant())
    while (!this.inPanic && this.accept(Kind.Bar))
    return variants
  }

  #variant(): Variant {
    const { start } = this
    const name = this.expectName('the name of a variant')
    const isRecord = this.kind === Kind.LeftBrace && !this.onNewLine
    const isTuple = this.kind === Kind.LeftParen && !this.onNewLine
    let index = 0
    const fields = isRecord
      ? this.fields(false)
      : isTuple
        ? this.list(Kind.RightParen, () => this.#payload(index++))
        : []
    return { kind: 'Variant', start, end: this.lastEnd, name, fields, isRecord }
  }

  #payload(index: number): Field {
    if (this.atName && this.second === Kind.Colon) return this.field(false)
    const { start } = this
    const name = { start, end: start, text: `_${index}` }
    const type = this.type()
    return { kind: 'Field', start, end: this.lastEnd, decorators: [], name, isOptional: false, type, value: null }
  }

  /** Parses a table; `type` or `pub type` is next. */
  protected table({ start, ...prefix }: Prefix, storage: Table['storage']): Table {
    const isPublic = this.accept(Kind.Pub) || prefix.isPublic
    this.expect(Kind.Type, `after \`@${storage}\``)
    const name = this.inPanic ? this.noName() : this.expectTypeName('a table')
    const fields = this.inPanic ? [] : this.fields(false)
    return { kind: 'Table', start, end: this.lastEnd, ...prefix, isPublic, storage, name, fields }
  }

  /** Parses an index; the name of its table is next. */
  protected index({ start }: Prefix, variant: Index['variant']): Index {
    const table = this.expectTypeName('a table')
    this.expect(Kind.Dot, 'before the name of the index')
    const name = this.inPanic ? this.noName() : this.expectName('the name of the index')
    this.expect(Kind.On, 'before the columns of the index')
    let columns: Name[] = []
    if (this.kind === Kind.LeftParen) columns = this.list(Kind.RightParen, () => this.expectName('a column'))
    else this.failExpecting(['`(`'], 'before the columns of an index')
    const options = this.accept(Kind.With) ? this.expression() : null
    return { kind: 'Index', start, end: this.lastEnd, variant, table, name, columns, options }
  }
}
