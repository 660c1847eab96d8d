import type { Doc } from '../../doc/doc.ts'
import {
  argumentList,
  arrow,
  call,
  code,
  enclosed,
  Level,
  method,
  operand,
  stable,
  type TypeScriptCode
} from '../../typescript/code.ts'
import type { ValueType } from '../value-types/type.ts'
import { isGeneric, isPlain, isScalar, itemOf } from './value-types.ts'

/** Helpers for the translation of a method. */
export interface MethodUses {
  helper(name: string): string
  /** Returns a name for the value, so that it can be used more than once. */
  named(value: TypeScriptCode): string
  /** Returns a value as the text that `str` makes of it. */
  text(value: TypeScriptCode, type: ValueType): TypeScriptCode
  /** True if a value does not show parts of its type. */
  isHidden(type: ValueType): boolean
  /** Returns the type of an argument. */
  argumentType(index: number): ValueType
  /** Prints a type as TypeScript; null if it is unknown. */
  print(type: ValueType): string | null
}

type Translation = (
  object: TypeScriptCode,
  args: readonly TypeScriptCode[],
  uses: MethodUses,
  type: ValueType
) => TypeScriptCode

const own =
  (name: string): Translation =>
  (object, args) =>
    method(object, name, ...args.map(each => each.doc))
const helped =
  (name: string): Translation =>
  (object, args, { helper }) =>
    call(helper(name), object.doc, ...args.map(each => each.doc))
const math =
  (name: string): Translation =>
  (object, args) =>
    call(`Math.${name}`, object.doc, ...args.map(each => each.doc))
const property =
  (name: string): Translation =>
  object =>
    code([operand(object, Level.postfix), '.', name])
const compared =
  (operator: string, other: string): Translation =>
  object =>
    code([operand(object, Level.relation), ` ${operator} `, other], Level.equality)
const orElse = (value: Doc, other: Doc): TypeScriptCode => code([value, ' ?? ', other], Level.or)
const asText: Translation = object => call('String', object.doc)
const itself: Translation = object => object

const first = (args: readonly TypeScriptCode[]): TypeScriptCode => args[0] ?? code('undefined')

const TEXT: Readonly<Record<string, Translation>> = {
  len: object => code(['[...', object.doc, '].length']),
  is_empty: compared('===', "''"),
  to_upper: own('toUpperCase'),
  to_lower: own('toLowerCase'),
  trim: own('trim'),
  trim_start: own('trimStart'),
  trim_end: own('trimEnd'),
  contains: own('includes'),
  starts_with: own('startsWith'),
  ends_with: own('endsWith'),
  split: own('split'),
  replace: own('replaceAll'),
  repeat: own('repeat'),
  slice: helped('slice_of'),
  index_of: helped('place_of'),
  char_at: (object, args) => orElse(['[...', object.doc, '][', first(args).doc, ']'], 'null'),
  to_str: itself
}

const LIST: Readonly<Record<string, Translation>> = {
  len: property('length'),
  is_empty: object => code([operand(object, Level.postfix), '.length === 0'], Level.equality),
  push: (object, args) => code(enclosed('[', [['...', object.doc], ...args.map(each => each.doc)], ']')),
  pop: object => method(object, 'slice', '0', '-1'),
  get: (object, args) => orElse(method(object, 'at', first(args).doc).doc, 'null'),
  first: object => orElse([operand(object, Level.postfix), '[0]'], 'null'),
  last: object => orElse([operand(object, Level.postfix), '.at(-1)'], 'null'),
  at: (object, args, uses) => {
    const item = uses.named(method(object, 'at', first(args).doc))
    return code(
      [
        item,
        " === undefined ? { _tag: 'Err' as const, value: 'the list has no such item' } : { _tag: 'Ok' as const, value: ",
        item,
        ' }'
      ],
      Level.choice
    )
  },
  contains: (object, args, { helper }, type) =>
    isScalar(itemOf(type))
      ? method(object, 'includes', first(args).doc)
      : call(helper('contains'), object.doc, first(args).doc),
  join: (object, args, { helper, isHidden, text }, type) => {
    const item = itemOf(type)
    if (isPlain(item, 'str', 'int', 'char', 'dec')) return method(object, 'join', ...args.map(each => each.doc))
    const shown: Doc = isHidden(item) ? arrow('each', text(stable('each'), item)).doc : helper('text')
    return method(method(object, 'map', shown), 'join', ...args.map(each => each.doc))
  },
  reverse: object => code(['[...', object.doc, '].reverse()']),
  map: own('map'),
  filter: own('filter'),
  flat_map: own('flatMap'),
  find: (object, args) => orElse(method(object, 'find', first(args).doc).doc, 'null'),
  any: own('some'),
  all: own('every'),
  fold: (object, args, { helper, argumentType, print }) => {
    // An empty list as the first value has no type that TypeScript could infer.
    const type = print(argumentType(0))
    const annotated: Doc = type === null ? first(args).doc : [operand(first(args), Level.relation), ` as ${type}`]
    return call(helper('fold'), object.doc, annotated, ...args.slice(1).map(each => each.doc))
  },
  zip: helped('zip'),
  sort: (object, _args, uses, type) => sorted(object, 'each => each', itemOf(type), uses),
  sort_by: (object, args, uses) => {
    const key = uses.argumentType(0)
    return sorted(object, first(args).doc, key.kind === 'function' ? key.result : key, uses)
  },
  slice: helped('items_between'),
  to_str: (object, _args, { text }, type) => text(object, type)
}

function sorted(object: TypeScriptCode, key: Doc, type: ValueType, { helper }: MethodUses): TypeScriptCode {
  const args: Doc[] = [object.doc, key]
  return call(helper('sorted_by'), ...(isPlain(type, 'dec') ? [...args, helper('compare_decimals')] : args))
}

const NUMBER: Readonly<Record<string, Translation>> = {
  to_str: asText,
  abs: math('abs'),
  min: math('min'),
  max: math('max'),
  floor: math('floor'),
  ceil: math('ceil'),
  round: math('round'),
  sqrt: math('sqrt'),
  to_int: math('trunc'),
  to_float: itself
}

const OPTION: Readonly<Record<string, Translation>> = {
  is_some: compared('!=', 'null'),
  is_none: compared('==', 'null'),
  unwrap: helped('unwrap_some'),
  unwrap_or: (object, args) => orElse(operand(object, Level.and), operand(first(args), Level.and)),
  map: (object, args, { named }) => {
    const value = named(object)
    return code([value, ' == null ? null : ', operand(first(args), Level.postfix), argumentList([value])], Level.choice)
  }
}

const RESULT: Readonly<Record<string, Translation>> = {
  is_ok: object => code([operand(object, Level.postfix), "._tag === 'Ok'"], Level.equality),
  is_err: object => code([operand(object, Level.postfix), "._tag === 'Err'"], Level.equality),
  unwrap: helped('unwrap_ok'),
  unwrap_or: (object, args, { named }) => {
    const result = named(object)
    return code([result, "._tag === 'Ok' ? ", result, '.value : ', first(args).doc], Level.choice)
  }
}

const MAP: Readonly<Record<string, Translation>> = {
  get: (object, args) => orElse([operand(object, Level.postfix), '[', first(args).doc, ']'], 'null'),
  has: (object, args) => call('Object.hasOwn', object.doc, first(args).doc),
  keys: object => call('Object.keys', object.doc),
  values: object => call('Object.values', object.doc),
  entries: object => call('Object.entries', object.doc),
  len: object => code(['Object.keys(', object.doc, ').length']),
  is_empty: object => code(['Object.keys(', object.doc, ').length === 0'], Level.equality),
  set: (object, args) => {
    const [key, value] = args
    return code(['{ ...', object.doc, ', [', key?.doc ?? '', ']: ', value?.doc ?? '', ' }'])
  },
  remove: (object, args) =>
    code(['Object.fromEntries(Object.entries(', object.doc, ').filter(([each]) => each !== ', first(args).doc, '))'])
}

/** Methods that several types share, for values of unknown type. */
const ANYTHING: Readonly<Record<string, Translation>> = {
  len: helped('size_of'),
  is_empty: (object, _args, { helper }) => code([helper('size_of'), '(', object.doc, ') === 0'], Level.equality),
  contains: helped('contains'),
  get: MAP.get as Translation,
  map: LIST.map as Translation,
  slice: own('slice'),
  unwrap: helped('unwrap_some'),
  unwrap_or: OPTION.unwrap_or as Translation,
  to_str: helped('text'),
  prevent_default: own('preventDefault'),
  stop_propagation: own('stopPropagation')
}

const SAME_AS: Readonly<Record<string, string>> = {
  length: 'len',
  chars_count: 'len',
  to_uppercase: 'to_upper',
  to_lowercase: 'to_lower',
  to_string: 'to_str',
  append: 'push'
}

/** Translates a method; an unknown one keeps its name. */
export function translateMethod(
  name: string,
  object: TypeScriptCode,
  type: ValueType,
  args: readonly TypeScriptCode[],
  uses: MethodUses
): TypeScriptCode {
  const common = SAME_AS[name] ?? name
  for (const table of tablesFor(type)) {
    const found = entry(table, name) ?? entry(table, common)
    if (found !== undefined) return found(object, args, uses, type)
  }
  return own(name)(object, args, uses, type)
}

function tablesFor(type: ValueType): readonly Readonly<Record<string, Translation>>[] {
  if (isPlain(type, 'str', 'char')) return [TEXT]
  if (isPlain(type, 'int', 'float', 'bool')) return [NUMBER]
  if (isGeneric(type, 'List', 'Set', 'Stream')) return [LIST]
  if (isGeneric(type, 'Option')) return [OPTION]
  if (isGeneric(type, 'Result')) return [RESULT]
  if (isGeneric(type, 'Map') || type.kind === 'record') return [MAP]
  return type.kind === 'any' ? [ANYTHING, TEXT, LIST, OPTION, RESULT, NUMBER, MAP] : []
}

function entry(table: Readonly<Record<string, Translation>>, name: string): Translation | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
