import type { HirExpression } from '@svc/contracts'
import type { ColumnType } from './column-type.ts'
import { textLiteral } from './names.ts'

/**
 * The default of a column as SQL; null where it has none, where it is NULL, and where it is known only when the program
 * runs.
 */
export function defaultLiteral(value: HirExpression | undefined, { kind }: ColumnType): string | null {
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
      const document = jsonText(plain)
      return document === null ? null : storable(document)
    }
    case 'vector':
      return null
  }
}

/** Text with U+0000 is refused by the store. */
function storable(text: string): string | null {
  return text.includes('\0') ? null : textLiteral(text)
}

function withoutSome(value: HirExpression): HirExpression {
  if (!('Call' in value)) return value
  const [callee, [argument]] = value.Call
  return 'Ident' in callee && callee.Ident[0] === 'Some' && argument !== undefined ? argument.value : value
}

/** What a minus stands before is read by `read`. */
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

/** Lists and records of what is written out. */
function jsonText(value: HirExpression): string | null {
  if ('StringLit' in value) return JSON.stringify(value.StringLit[0])
  if ('BoolLit' in value) return String(value.BoolLit[0])
  if ('ListLit' in value) {
    const items = value.ListLit[0].map(jsonText)
    return items.includes(null) ? null : `[${items.join(',')}]`
  }
  if ('ObjectLit' in value) {
    const entries = value.ObjectLit[0].map(([key, item]) => {
      const text = jsonText(item)
      return text === null ? null : `${JSON.stringify(key)}:${text}`
    })
    return entries.includes(null) ? null : `{${entries.join(',')}}`
  }
  return wholeNumber(value) ?? realNumber(value)
}
