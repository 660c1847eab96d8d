import type { Pattern } from '../../syntax/ast-statements.ts'
import { literal, propertyKey } from '../../typescript/names.ts'
import { ANY, type ValueType } from '../value-types/type.ts'
import type { TranslatedProgram } from './program.ts'
import { isPlain } from './value-types.ts'

/** Condition of a pattern, and its bound variables. */
export interface PatternTest {
  readonly tests: readonly string[]
  readonly bindings: readonly { readonly name: string; readonly value: string; readonly type: ValueType }[]
}

const NOTHING: PatternTest = { tests: [], bindings: [] }

/** Translates a pattern. `value` is the TypeScript of the matched value; it may be evaluated more than once. */
export function patternTest(pattern: Pattern, value: string, type: ValueType, program: TranslatedProgram): PatternTest {
  switch (pattern.kind) {
    case 'WildcardPattern':
      return NOTHING
    case 'BindingPattern':
      return { tests: [], bindings: [{ name: pattern.name.text, value, type }] }
    case 'LiteralPattern':
      return { tests: [literalTest(pattern, value, type)], bindings: [] }
    case 'TuplePattern': {
      const items = type.kind === 'tuple' ? type.items : []
      return all(
        pattern.items.map((item, index) => patternTest(item, `${value}[${index}]`, items[index] ?? ANY, program))
      )
    }
    case 'ConstructorPattern':
      return constructorTest(pattern, value, type, program)
  }
}

function constructorTest(
  { name, args }: Extract<Pattern, { kind: 'ConstructorPattern' }>,
  value: string,
  type: ValueType,
  program: TranslatedProgram
): PatternTest {
  const parts = args ?? []
  const entry = program.names.get(name.text)
  const held = type.kind === 'generic' ? type.args : []
  const [inner] = parts
  const within = (at: string, innerType: ValueType): PatternTest =>
    inner === undefined ? NOTHING : patternTest(inner, at, innerType, program)
  const isOwn = entry?.kind === 'constructor'
  if (!isOwn && name.text === 'Some') return all([test(`${value} != null`), within(value, held[0] ?? ANY)])
  if (!isOwn && name.text === 'None') return test(`${value} == null`)
  if (!isOwn && name.text === 'Ok')
    return all([test(`${value}._tag === 'Ok'`), within(`${value}.value`, held[0] ?? ANY)])
  if (!isOwn && (name.text === 'Error' || name.text === 'Err')) {
    const failure =
      held[1] === undefined || held[1].kind === 'any' ? ({ kind: 'plain', name: 'str' } as const) : held[1]
    return all([test(`${value}._tag === 'Err'`), within(`${value}.value`, failure)])
  }
  const fields = entry?.signature?.params ?? []
  return all([
    test(`${value}._tag === ${literal(name.text)}`),
    ...parts.map((part, index) => {
      const field = fields[index]
      const key = field?.name.text ?? `_${index}`
      const access = propertyKey(key) === key ? `${value}.${key}` : `${value}[${literal(key)}]`
      return patternTest(part, access, program.reader.read(field?.type ?? null), program)
    })
  ])
}

function literalTest(
  { value, isNegative }: Extract<Pattern, { kind: 'LiteralPattern' }>,
  subject: string,
  type: ValueType
): string {
  const sign = isNegative ? '-' : ''
  switch (value.kind) {
    case 'Bool':
      return isPlain(type, 'bool') ? `${value.value ? '' : '!'}${subject}` : `${subject} === ${value.value}`
    case 'String':
      return `${subject} === ${literal(value.value)}`
    case 'Decimal':
      return `Number(${subject}) === ${sign}${Number(value.digits)}`
    default:
      return `${subject} === ${sign}${value.digits.replace(/^0+(?=\d)/, '')}`
  }
}

const test = (text: string): PatternTest => ({ tests: [text], bindings: [] })

function all(parts: readonly PatternTest[]): PatternTest {
  return { tests: parts.flatMap(each => each.tests), bindings: parts.flatMap(each => each.bindings) }
}
