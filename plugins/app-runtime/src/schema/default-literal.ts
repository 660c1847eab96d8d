import type { HirExpression, HirModule, HirVariant } from '@svc/contracts'
import type { ColumnType } from './column-type.ts'
import { textLiteral } from './names.ts'

/** Returns the default of a column as SQL; null if there is none, it is NULL, or it is known only at run time. */
export function defaultLiteral(
  value: HirExpression | undefined,
  { kind }: ColumnType,
  module: Pick<HirModule, 'types'>
): string | null {
  if (value === undefined) return null
  const plain = withoutSome(value)
  switch (kind) {
    case 'int':
    case 'id':
      return wholeNumber(plain)
    case 'bool':
      return 'BoolLit' in plain ? String(Number(plain.BoolLit[0])) : null
    case 'float':
      return realNumber(plain)
    case 'str':
    case 'char':
      return 'StringLit' in plain ? storable(plain.StringLit[0]) : null
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

function withoutSome(value: HirExpression): HirExpression {
  if (!('Call' in value)) return value
  const [callee, [argument]] = value.Call
  return 'Ident' in callee && callee.Ident[0] === 'Some' && argument !== undefined ? argument.value : value
}

/** Reads a number with an optional minus; `read` reads the operand. */
function signed(value: HirExpression, read: (value: HirExpression) => string | null): string | null {
  if (!('Unary' in value)) return read(value)
  const [operator, operand] = value.Unary
  const digits = operator === 'Neg' ? read(operand) : null
  return digits === null ? null : `-${digits}`
}

function wholeNumber(value: HirExpression): string | null {
  return signed(value, plain => ('IntLit' in plain ? String(plain.IntLit[0]) : null))
}

function realNumber(value: HirExpression): string | null {
  return signed(value, plain => {
    if ('IntLit' in plain) return `${plain.IntLit[0]}.0`
    if (!('FloatLit' in plain)) return null
    const [number] = plain.FloatLit
    const digits = String(number)
    return /^\d+$/.test(digits) ? `${digits}.0` : digits
  })
}

function decimalNumber(value: HirExpression): string | null {
  const digits = signed(value, plain => ('DecimalLit' in plain ? plain.DecimalLit[0] : null))
  return digits === null ? null : textLiteral(digits)
}

/** Writes literals as JSON, in the form in which the program stores them. */
class DocumentText {
  readonly #variants: ReadonlyMap<string, HirVariant>

  constructor({ types }: Pick<HirModule, 'types'>) {
    this.#variants = new Map(types.flatMap(({ variants }) => variants.map(variant => [variant.name, variant])))
  }

  of(value: HirExpression): string | null {
    if ('StringLit' in value) return JSON.stringify(value.StringLit[0])
    if ('BoolLit' in value) return String(value.BoolLit[0])
    if ('DecimalLit' in value) return JSON.stringify(value.DecimalLit[0])
    if ('Ident' in value) return this.#variant(value.Ident[0], [])
    if ('Call' in value) {
      const [callee, args] = value.Call
      return 'Ident' in callee && args.every(({ name }) => name === null)
        ? this.#variant(
            callee.Ident[0],
            args.map(argument => argument.value)
          )
        : null
    }
    if ('ListLit' in value) {
      const items = value.ListLit[0].map(item => this.of(item))
      return items.includes(null) ? null : `[${items.join(',')}]`
    }
    if ('ObjectLit' in value) return this.#record(value.ObjectLit[0])
    if ('StructLit' in value) return this.#record(value.StructLit.fields)
    return signed(value, plain => {
      if ('IntLit' in plain) return String(plain.IntLit[0])
      return 'FloatLit' in plain ? JSON.stringify(plain.FloatLit[0]) : null
    })
  }

  #record(entries: readonly (readonly [key: string, value: HirExpression])[]): string | null {
    const texts = entries.map(([key, item]) => {
      const text = this.of(item)
      return text === null ? null : `${JSON.stringify(key)}:${text}`
    })
    return texts.includes(null) ? null : `{${texts.join(',')}}`
  }

  #variant(name: string, args: readonly HirExpression[]): string | null {
    const variant = this.#variants.get(name)
    if (variant === undefined || variant.fields.length !== args.length) return null
    const fields = this.#record(variant.fields.map(([field], at) => [field, args[at] as HirExpression]))
    if (fields === null) return null
    return fields === '{}' ? `{"_tag":${JSON.stringify(name)}}` : `{"_tag":${JSON.stringify(name)},${fields.slice(1)}`
  }
}
