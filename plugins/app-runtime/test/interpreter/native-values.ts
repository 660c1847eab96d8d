import { BUILTIN_DEFS, NATIVES, named, type RigidType, resolved, type Type } from '@svc/plugin-compiler/testing'
import fc from 'fast-check'
import {
  Callable,
  Decimal,
  error,
  Float,
  isRecord,
  Json,
  NONE,
  ok,
  some,
  Tagged,
  Tuple,
  type Value
} from '#interpreter'

/** The types that stand for type parameters. */
export type Substitution = ReadonlyMap<RigidType, Type>

const plain = (name: string): Type => {
  const def = BUILTIN_DEFS.get(name)
  if (def === undefined) throw new Error(`no such type: ${name}`)
  return named(def)
}

export const UNIT = plain('Unit')
const [INT, FLOAT, STR, BOOL, DEC] = ['int', 'float', 'str', 'bool', 'dec'].map(plain) as [Type, Type, Type, Type, Type]
const LIST = BUILTIN_DEFS.get('List')

/** Types for a type parameter, by its bound. */
const CHOICES: Readonly<Record<string, readonly Type[]>> = {
  none: [INT, STR, BOOL, FLOAT, ...(LIST === undefined ? [] : [named(LIST, [INT])])],
  ordered: [INT, FLOAT, STR, DEC],
  sized: [STR, ...(LIST === undefined ? [] : [named(LIST, [STR])])],
  duration: [INT, STR]
}

/** Generates types for the parameters of a signature. */
export function substitutions(
  generics: readonly RigidType[],
  bounds: ReadonlyMap<RigidType, string>
): fc.Arbitrary<Substitution> {
  const each = generics.map(generic => fc.constantFrom(...(CHOICES[bounds.get(generic) ?? 'none'] as Type[])))
  return fc.tuple(...each).map(types => new Map(generics.map((generic, index) => [generic, types[index] as Type])))
}

const MIN_INT = -(2n ** 63n)
const SPECIAL_INTS = [0n, -1n, 2n ** 53n, 2n ** 63n - 1n, MIN_INT].map(intOf)
const INTS: fc.Arbitrary<Value> = fc.oneof(
  fc.integer({ min: -20, max: 20 }),
  fc.bigInt({ min: MIN_INT, max: 2n ** 63n - 1n }).map(intOf),
  fc.constantFrom(...SPECIAL_INTS)
)
const TEXTS: fc.Arbitrary<Value> = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.string({ unit: 'binary', maxLength: 4 }),
  fc.constantFrom('', '1', '-2.5', 'a.b', '\u0000', '😀a', '[1, 2]', '{"a": {"b": 1}}', 'a: 1', '2ms')
)
const DECIMALS: fc.Arbitrary<Value> = fc
  .tuple(fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }), fc.nat({ max: 6 }))
  .map(([digits, scale]) => new Decimal(digits, scale))
const FLOATS: fc.Arbitrary<Value> = fc.double().map(number => new Float(number))

function intOf(value: bigint): number | bigint {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}

const depth = { maxDepth: 2 } as const
/** Values that a program can write as data. */
const DATA: fc.Arbitrary<Value> = fc.letrec<{ data: Value }>(data => ({
  data: fc.oneof(
    depth,
    INTS,
    TEXTS,
    FLOATS,
    DECIMALS,
    fc.boolean(),
    fc.constant(NONE),
    fc.array(data('data'), { maxLength: 3 }) as fc.Arbitrary<Value>,
    fc.dictionary(fc.string({ maxLength: 3 }), data('data'), { maxKeys: 3 }).map(each => new Map(Object.entries(each)))
  )
})).data

const JSONS: fc.Arbitrary<Value> = fc.jsonValue({ maxDepth: 2 }).map(data => new Json(data))

/** Calls a native function of the interpreter by its path. */
export type CallNative = (path: string, ...args: Value[]) => Value

/** Generates values of a type. */
export function valuesOf(type: Type, types: Substitution, call: CallNative): fc.Arbitrary<Value> {
  const of = (inner: Type): fc.Arbitrary<Value> => valuesOf(inner, types, call)
  const regex = (pattern: string): Value => (call('std.regex.compile', pattern) as Tagged).fields[0] as Value
  const actual = resolved(type)
  switch (actual.kind) {
    case 'any':
      return DATA
    case 'rigid':
      return of(types.get(actual) as Type)
    case 'tuple':
      return fc.tuple(...actual.items.map(of)).map(items => new Tuple(items))
    case 'fn':
      return of(actual.result).map(result => new Callable('generated', null, () => result))
    case 'named':
      break
    default:
      throw new Error(`no values of the type ${actual.kind}`)
  }
  const [first, second] = actual.args
  switch (actual.def.name) {
    case 'int':
      return INTS
    case 'float':
      return FLOATS
    case 'str':
      return TEXTS
    case 'bool':
      return fc.boolean()
    case 'dec':
      return DECIMALS
    case 'Unit':
      return fc.constant(null)
    case 'List':
      return fc.array(of(first as Type), { maxLength: 6 })
    case 'Map':
      return fc
        .dictionary(fc.string({ maxLength: 3 }), of(second as Type), { maxKeys: 4 })
        .map(entries => new Map(Object.entries(entries)))
    case 'Option':
      return fc.oneof(fc.constant(NONE), of(first as Type).map(some))
    case 'Result':
      return fc.oneof(of(first as Type).map(ok), of(second as Type).map(error))
    case 'Json':
    case 'JsonBody':
      return JSONS
    case 'Regex':
      return fc.constantFrom('a+', '(b)|(c)', '', '\\d*').map(regex)
    case 'Match':
      return fc.constantFrom('a+', '(b)|(c)').map(pattern => matchOf(regex(pattern)))
    case 'Response':
      return TEXTS.map(text => call('Response.text', text))
    default: {
      const { fields, name } = actual.def
      if (fields === null) throw new Error(`no values of the type ${name}`)
      const members = Object.fromEntries(Array.from(fields.values(), field => [field.name, of(field.type)]))
      return fc.record(members).map(record => new Map(Object.entries(record)))
    }
  }
}

function matchOf(regex: Value): Value {
  const { methods } = regex as { methods: Record<string, (args: Value[]) => Value> }
  const found = methods.find?.(['xaabcx']) as Tagged
  return found.fields[0] as Value
}

/** True if a value is of a type. */
export function isOfType(value: Value, type: Type, types: Substitution): boolean {
  const of = (inner: Value | undefined, expected: Type | undefined): boolean =>
    inner !== undefined && expected !== undefined && isOfType(inner, expected, types)
  const actual = resolved(type)
  switch (actual.kind) {
    case 'any':
      return true
    case 'rigid':
      return of(value, types.get(actual))
    case 'tuple':
      return value instanceof Tuple && actual.items.every((item, index) => of(value.items[index], item))
    case 'record':
      return isRecord(value) && [...actual.fields].every(([name, field]) => of(value.get(name), field))
    case 'named':
      break
    default:
      return false
  }
  const [first, second] = actual.args
  switch (actual.def.name) {
    case 'int':
      return (
        (typeof value === 'number' && Number.isSafeInteger(value)) ||
        (typeof value === 'bigint' && BigInt.asIntN(64, value) === value && !Number.isSafeInteger(Number(value)))
      )
    case 'float':
      return value instanceof Float
    case 'str':
      return typeof value === 'string'
    case 'bool':
      return typeof value === 'boolean'
    case 'dec':
      return value instanceof Decimal
    case 'Unit':
      return value === null
    case 'List':
      return Array.isArray(value) && value.every(item => of(item, first))
    case 'Map':
      return isRecord(value) && [...value.values()].every(item => of(item, second))
    case 'Option':
      return value === NONE || (value instanceof Tagged && value.tag === 'Some' && of(value.fields[0], first))
    case 'Result':
      return value instanceof Tagged && of(value.fields[0], value.tag === 'Ok' ? first : second)
    case 'Json':
    case 'JsonBody':
      return value instanceof Json
    default:
      return NATIVES.type(actual.def.name) === actual.def && (value as { type?: string }).type === actual.def.name
  }
}
