import type { Hir, HirModule } from '@svc/contracts'
import type { ColumnType } from './column-type.ts'
import { textLiteral } from './names.ts'

/** Returns the default of a column as SQL; null if there is none, it is NULL, or it is known only at run time. */
export function defaultLiteral(
  code: Hir.Body | undefined,
  { kind }: ColumnType,
  module: Pick<HirModule, 'types'>
): string | null {
  const [statement] = code?.block ?? []
  if (statement?.kind !== 'Expr') return null
  const plain = withoutSome(statement.value)
  switch (kind) {
    case 'int':
    case 'id':
      return wholeNumber(plain)
    case 'bool':
      return plain.kind === 'Bool' ? String(Number(plain.value)) : null
    case 'float':
      return realNumber(plain)
    case 'str':
    case 'char':
      return plain.kind === 'Str' ? storable(plain.value) : null
    case 'dec':
      return decimalNumber(plain)
    case 'json': {
      const document = new DocumentText(module).of(plain)
      return document === null ? null : storable(document)
    }
    case 'file':
    case 'vector':
      return null
  }
}

/** Returns a string as SQL; null if it contains U+0000, which the store rejects. */
function storable(text: string): string | null {
  return text.includes('\0') ? null : textLiteral(text)
}

function withoutSome(value: Hir.Expr): Hir.Expr {
  return value.kind === 'Variant' && value.name === 'Some' ? (value.args[0] ?? value) : value
}

/** Reads a number with an optional minus; `read` reads the operand. */
function signed(value: Hir.Expr, read: (value: Hir.Expr) => string | null): string | null {
  if (value.kind !== 'Unary') return read(value)
  const digits = value.operator === 'neg' ? read(value.operand) : null
  return digits === null ? null : `-${digits}`
}

function wholeNumber(value: Hir.Expr): string | null {
  return signed(value, plain => (plain.kind === 'Int' ? String(plain.value) : null))
}

function realNumber(value: Hir.Expr): string | null {
  return signed(value, plain => {
    if (plain.kind !== 'Float') return null
    const digits = String(plain.value)
    return /^\d+$/.test(digits) ? `${digits}.0` : digits
  })
}

function decimalNumber(value: Hir.Expr): string | null {
  const digits = signed(value, plain => (plain.kind === 'Decimal' ? plain.digits : null))
  return digits === null ? null : textLiteral(digits)
}

/** Writes literals as JSON, in the form in which the program stores them. */
class DocumentText {
  /** Names of the fields, by constructor. */
  readonly #variants: ReadonlyMap<string, readonly string[]>
  /** Number of fields, by struct. */
  readonly #structs: ReadonlyMap<string, number>

  constructor({ types }: Pick<HirModule, 'types'>) {
    this.#variants = new Map(
      types.flatMap(({ variants }) =>
        variants.map(({ name, fields }) => [name, fields.map(([field]) => field)] as const)
      )
    )
    this.#structs = new Map(types.map(({ name, fields = [] }) => [name, fields.length]))
  }

  of(value: Hir.Expr): string | null {
    switch (value.kind) {
      case 'Str':
        return JSON.stringify(value.value)
      case 'Bool':
        return String(value.value)
      case 'Decimal':
        return JSON.stringify(value.digits)
      case 'Int':
        return String(value.value)
      case 'Float':
        return JSON.stringify(value.value)
      case 'Unary':
        return signed(value, plain => (plain.kind === 'Int' || plain.kind === 'Float' ? this.of(plain) : null))
      case 'List': {
        const items = value.items.map(item => this.of(item))
        return items.includes(null) ? null : `[${items.join(',')}]`
      }
      case 'Record':
        return this.#record(value.fields)
      case 'Map':
        return this.#record(value.entries)
      case 'Struct':
        // Members that the program adds are known only at run time.
        return value.fields.length === this.#structs.get(value.name) ? this.#record(value.fields) : null
      case 'Variant':
        return this.#variant(value)
      default:
        return null
    }
  }

  #record(entries: readonly Hir.NamedExpr[]): string | null {
    const texts = entries.map(([key, item]) => {
      const text = this.of(item)
      return text === null ? null : `${JSON.stringify(key)}:${text}`
    })
    return texts.includes(null) ? null : `{${texts.join(',')}}`
  }

  #variant({ name, args, fields: order }: Hir.Variant): string | null {
    const names = this.#variants.get(name)
    if (names === undefined || names.length !== args.length) return null
    const fields = this.#record(names.map((field, at) => [field, args[order.indexOf(at)] as Hir.Expr]))
    if (fields === null) return null
    return fields === '{}' ? `{"_tag":${JSON.stringify(name)}}` : `{"_tag":${JSON.stringify(name)},${fields.slice(1)}`
  }
}
