// toestub-ignore(arch/god_object) - one table of the translations of natives, with their few helpers
import type { Hir } from '@svc/contracts'
import type { Doc } from '../doc/doc.ts'
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
} from './code.ts'
import { decimalPlaces, withPlainDecimals } from './decimals.ts'
import { type Emitter, named, textOf } from './emitter.ts'
import { isExact } from './int-bounds.ts'
import { heldCode, mayBeNull, someCode } from './options.ts'
import { textShape } from './text-shape.ts'
import { ANY, isList, isNamed, isScalar, itemOf } from './value-types.ts'

/** A call of a function that every program has. */
export interface NativeCall {
  readonly e: Emitter
  readonly args: readonly TypeScriptCode[]
  readonly types: readonly Hir.Type[]
  /** Limits of the sizes of the arguments that are ints. */
  readonly bounds: readonly number[]
}

/** A call of a method of a value. */
export interface MethodCall extends NativeCall {
  readonly object: TypeScriptCode
  readonly type: Hir.Type
  /** Limit of the size of the object if it is an int. */
  readonly bound: number
}

type FunctionTranslation = (call: NativeCall) => TypeScriptCode
type MethodTranslation = (call: MethodCall) => TypeScriptCode

const first = ({ args }: NativeCall, index = 0): TypeScriptCode => args[index] ?? stable('null')
const docs = ({ args }: NativeCall): Doc[] => args.map(each => each.doc)
/** Returns the first argument, a function, as one of a single parameter. */
const ofOne = (invocation: NativeCall): Doc => {
  const made = first(invocation)
  const type = invocation.types[0]
  if (type?.kind !== 'fn' || type.params.length < 2) return made.doc
  return arrow('each', code([operand(made, Level.postfix), '(each)'])).doc
}
const orElse = (value: Doc, other: Doc): TypeScriptCode => code([value, ' ?? ', other], Level.nullish)
const orNull = (value: Doc): TypeScriptCode => ({ ...orElse(value, 'null'), withoutNull: value })

/** Calls a function of the runtime module with the arguments. */
const helped =
  (name: string): FunctionTranslation =>
  invocation =>
    call(invocation.e.file.helper(name), ...docs(invocation))

/** Calls a function of JavaScript with the arguments. */
const global =
  (name: string): FunctionTranslation =>
  invocation =>
    call(name, ...docs(invocation))

function lengthOf(e: Emitter, value: TypeScriptCode, type: Hir.Type): TypeScriptCode {
  if (isNamed(type, 'str', 'char')) return code(['[...', value.doc, '].length'])
  if (isList(type)) return code([operand(value, Level.postfix), '.length'])
  return call(e.file.helper('size_of'), value.doc)
}

function asText(e: Emitter, value: TypeScriptCode, type: Hir.Type): TypeScriptCode {
  if (isNamed(type, 'str', 'char', 'dec')) return value
  return isNamed(type, 'int', 'bool') ? call('String', value.doc) : textOf(e, value, type)
}

const text: FunctionTranslation = invocation => asText(invocation.e, first(invocation), invocation.types[0] ?? ANY)

/** Returns the smaller (`at` is 0) or the greater (-1) of two values of an ordered type. */
const extreme =
  (name: 'min' | 'max'): FunctionTranslation =>
  invocation => {
    const { e, types } = invocation
    const type = types[0] ?? ANY
    if (isNamed(type, 'float') || invocation.bounds.every(isExact)) return call(`Math.${name}`, ...docs(invocation))
    if (isNamed(type, 'int')) return call(e.file.helper(name === 'min' ? 'smaller' : 'greater'), ...docs(invocation))
    if (isNamed(type, 'dec')) {
      return call(e.file.helper(name === 'min' ? 'decimal_smaller' : 'decimal_greater'), ...docs(invocation))
    }
    const sorted = sortedBy(e, code(enclosed('[', docs(invocation), ']')), 'each => each', type)
    return call(e.file.helper('item_at'), sorted.doc, name === 'min' ? '0' : '-1')
  }

const MATH = 'sqrt cbrt exp sin cos tan asin acos atan atan2 log2 log10 floor ceil pow'

/** Functions by their key in the table of natives. Browsers cannot provide the others. */
const FUNCTIONS: ReadonlyMap<string, FunctionTranslation> = new Map(
  Object.entries<FunctionTranslation>({
    str: text,
    to_string: text,
    print: invocation => {
      const { e, args, types } = invocation
      const shown = args.map((each, index) => {
        const type = types[index] ?? ANY
        return isNamed(type, 'float') || textShape(type, e.file.program) !== null ? textOf(e, each, type) : each
      })
      return call('console.log', ...shown.map(each => each.doc))
    },
    len: invocation => lengthOf(invocation.e, first(invocation), invocation.types[0] ?? ANY),
    assert: invocation => {
      const { e, args, types } = invocation
      const [condition, message] = args
      const shown = message === undefined ? [] : [asText(e, message, types[1] ?? ANY).doc]
      return call(e.file.helper('assert'), condition?.doc ?? 'false', ...shown)
    },
    panic: invocation => {
      const { e, args, types } = invocation
      if (args.length === 0) return call(e.file.helper('panic'), "'the program panicked'")
      return call(e.file.helper('panic'), asText(e, first(invocation), types[0] ?? ANY).doc)
    },
    int: invocation => {
      return isNamed(invocation.types[0] ?? ANY, 'dec')
        ? helped('decimal_to_int')(invocation)
        : helped('to_int')(invocation)
    },
    float: invocation => {
      return isNamed(invocation.types[0] ?? ANY, 'dec') ? global('Number')(invocation) : helped('to_float')(invocation)
    },
    dec: helped('to_dec'),
    bool: invocation => {
      const { e, types } = invocation
      const [type = ANY] = types
      const compare = (operator: string): TypeScriptCode =>
        code([operand(first(invocation), Level.relation), ` ${operator}`], Level.equality)
      if (isNamed(type, 'Option')) return compare('!= null')
      if (!isNamed(type, 'dec')) return helped('to_bool')(invocation)
      return code([e.file.helper('compare_decimals'), '(', first(invocation).doc, ", '0') !== 0"], Level.equality)
    },
    type_of: helped('type_of'),
    range: invocation => {
      const bounds = invocation.args.length === 1 ? ['0', ...docs(invocation)] : docs(invocation)
      return call(invocation.e.file.helper('range'), ...bounds)
    },
    'std.math.ln': global('Math.log'),
    'std.math.pi': () => code('Math.PI'),
    'std.math.e': () => code('Math.E'),
    'std.math.min': extreme('min'),
    'std.math.max': extreme('max'),
    'std.random.float': () => code('Math.random()'),
    'std.time.now_ms': () => code('Date.now()'),
    'std.now_ms': () => code('Date.now()'),
    'std.crypto.uuid': () => code('crypto.randomUUID()'),
    'std.uuid': () => code('crypto.randomUUID()'),
    'std.json.stringify': helped('json_text'),
    'std.json.encode': helped('json_text'),
    'std.json.quote': helped('json_text'),
    'std.json.value': invocation => first(invocation),
    'std.log.debug': global('console.debug'),
    'std.log.info': global('console.info'),
    'std.log.warn': global('console.warn'),
    'std.log.error': global('console.error'),
    ...Object.fromEntries(MATH.split(' ').map(name => [`std.math.${name}`, global(`Math.${name}`)]))
  })
)

/** Translates a function by its key in the table of natives; null if browsers cannot provide it. */
export function nativeCode(native: string, invocation: NativeCall): TypeScriptCode | null {
  return FUNCTIONS.get(native)?.(invocation) ?? null
}

const own =
  (name: string): MethodTranslation =>
  invocation =>
    method(invocation.object, name, ...docs(invocation))
/** Passes one value to a function: JavaScript adds the position, which would be the value of a second parameter. */
const oneToEach =
  (name: string): MethodTranslation =>
  invocation =>
    method(invocation.object, name, ofOne(invocation))
const onObject =
  (callee: string): MethodTranslation =>
  invocation =>
    call(callee, invocation.object.doc, ...docs(invocation))
const helpedOn =
  (name: string): MethodTranslation =>
  invocation =>
    call(invocation.e.file.helper(name), invocation.object.doc, ...docs(invocation))
const compared =
  (operator: string, other: string): MethodTranslation =>
  ({ object }) =>
    code([operand(object, Level.relation), ` ${operator} `, other], Level.equality)
const itself: MethodTranslation = ({ object }) => object
const textOfObject: MethodTranslation = ({ e, object, type }) => asText(e, object, type)
const isEmptyList: MethodTranslation = ({ object }) =>
  code([operand(object, Level.postfix), '.length === 0'], Level.equality)

const TEXT: Readonly<Record<string, MethodTranslation>> = {
  len: ({ e, object, type }) => lengthOf(e, object, type),
  is_empty: compared('===', "''"),
  to_upper: own('toUpperCase'),
  to_lower: own('toLowerCase'),
  trim: own('trim'),
  trim_start: own('trimStart'),
  trim_end: own('trimEnd'),
  contains: own('includes'),
  starts_with: own('startsWith'),
  ends_with: own('endsWith'),
  split: invocation => {
    const separator = first(invocation).doc
    // With an empty separator, JavaScript splits characters of two code units.
    const isPlain = typeof separator === 'string' && /^'.+'$/.test(separator)
    return isPlain ? own('split')(invocation) : helpedOn('parts_of')(invocation)
  },
  replace: invocation => {
    const [from, to] = invocation.args
    // In a string, `$&` and the like have a meaning.
    const isPlain = typeof to?.doc === 'string' && /^'[^$]*'$/.test(to.doc)
    return method(invocation.object, 'replaceAll', from?.doc ?? '', isPlain ? to.doc : arrow('()', to ?? code('')).doc)
  },
  repeat: own('repeat'),
  slice: helpedOn('slice_of'),
  index_of: helpedOn('place_of'),
  parse_int: helpedOn('parsed_int'),
  parse_float: helpedOn('parsed_float'),
  parse_dec: helpedOn('parsed_dec'),
  char_at: invocation => orNull(['[...', invocation.object.doc, '][', first(invocation).doc, ']'])
}

const LIST: Readonly<Record<string, MethodTranslation>> = {
  len: ({ object }) => code([operand(object, Level.postfix), '.length']),
  is_empty: isEmptyList,
  push: invocation => code(enclosed('[', [['...', invocation.object.doc], ...docs(invocation)], ']')),
  pop: ({ object }) => method(object, 'slice', '0', '-1'),
  get: invocation => {
    return (
      itemOption(invocation, first(invocation).doc) ??
      orNull(method(invocation.object, 'at', first(invocation).doc).doc)
    )
  },
  first: invocation => itemOption(invocation, '0') ?? orNull([operand(invocation.object, Level.postfix), '[0]']),
  last: invocation => itemOption(invocation, '-1') ?? orNull([operand(invocation.object, Level.postfix), '.at(-1)']),
  at: invocation => {
    const item = named(invocation.e, method(invocation.object, 'at', first(invocation).doc), 'value')
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
  contains: invocation => {
    const { e, object, type, types } = invocation
    if (isScalar(itemOf(type))) return own('includes')(invocation)
    const places = decimalPlaces(itemOf(type), e.file.program) ?? decimalPlaces(types[0] ?? ANY, e.file.program)
    if (places === null) return helpedOn('contains')(invocation)
    const items = code([operand(withPlainDecimals(e, object, `{ each: ${places} }`), Level.relation), ' as unknown[]'])
    return call(e.file.helper('contains'), items.doc, withPlainDecimals(e, first(invocation), places).doc)
  },
  join: invocation => {
    const { e, object, type } = invocation
    const item = itemOf(type)
    if (isNamed(item, 'str', 'int', 'char', 'dec')) return own('join')(invocation)
    const isHidden = textShape(item, e.file.program) !== null
    const shown: Doc = isHidden ? arrow('each', textOf(e, stable('each'), item)).doc : e.file.helper('text')
    return method(method(object, 'map', shown), 'join', ...docs(invocation))
  },
  reverse: ({ object }) => code(['[...', object.doc, '].reverse()']),
  map: oneToEach('map'),
  filter: oneToEach('filter'),
  flat_map: oneToEach('flatMap'),
  find: invocation => {
    const { e, object, type } = invocation
    if (mayBeNull(itemOf(type))) return call(e.file.helper('found_option'), object.doc, ofOne(invocation))
    return orNull(method(object, 'find', ofOne(invocation)).doc)
  },
  any: oneToEach('some'),
  all: oneToEach('every'),
  fold: invocation => {
    const { e, object, args, types } = invocation
    // An empty list as the first value has no type that TypeScript could infer.
    const type = e.file.type(types[0] ?? ANY)
    const start: Doc =
      type === null ? first(invocation).doc : [operand(first(invocation), Level.relation), ` as ${type}`]
    return call(e.file.helper('fold'), object.doc, start, ...args.slice(1).map(each => each.doc))
  },
  zip: helpedOn('zip'),
  sort: ({ e, object, type }) => sortedBy(e, object, 'each => each', itemOf(type)),
  sort_by: invocation => {
    const [key = ANY] = invocation.types
    return sortedBy(invocation.e, invocation.object, first(invocation).doc, key.kind === 'fn' ? key.result : key)
  },
  slice: helpedOn('items_between')
}

/** Returns an item of a list as an option; null if a missing item is no other than `None`. */
function itemOption({ e, object, type }: MethodCall, index: Doc): TypeScriptCode | null {
  return mayBeNull(itemOf(type)) ? call(e.file.helper('item_option'), object.doc, index) : null
}

function sortedBy(e: Emitter, object: TypeScriptCode, key: Doc, type: Hir.Type): TypeScriptCode {
  const compare = isNamed(type, 'dec') ? [e.file.helper('compare_decimals')] : []
  return call(e.file.helper('sorted_by'), object.doc, key, ...compare)
}

/** Methods of ints if they are exact numbers of JavaScript, and of floats. */
const NUMBER: Readonly<Record<string, MethodTranslation>> = {
  abs: onObject('Math.abs'),
  min: onObject('Math.min'),
  max: onObject('Math.max'),
  floor: onObject('Math.floor'),
  ceil: onObject('Math.ceil'),
  round: helpedOn('rounded'),
  sqrt: onObject('Math.sqrt'),
  to_int: helpedOn('float_to_int'),
  to_float: itself
}

const INT: Readonly<Record<string, MethodTranslation>> = {
  abs: helpedOn('int_abs'),
  min: helpedOn('smaller'),
  max: helpedOn('greater'),
  to_float: onObject('Number')
}

const DECIMAL: Readonly<Record<string, MethodTranslation>> = {
  abs: ({ object }) => method(object, 'replace', "'-'", "''"),
  to_float: onObject('Number'),
  round: helpedOn('decimal_rounded')
}

const OPTION: Readonly<Record<string, MethodTranslation>> = {
  is_some: compared('!=', 'null'),
  is_none: compared('==', 'null'),
  unwrap: ({ e, object, type }) => heldCode(e.file, call(e.file.helper('unwrap_some'), object.doc), itemOf(type)),
  unwrap_or: invocation => {
    const { e, object, type } = invocation
    if (mayBeNull(itemOf(type))) {
      const value = named(e, object, 'value')
      const held = heldCode(e.file, stable(value), itemOf(type))
      return code([value, ' == null ? ', operand(first(invocation), Level.choice), ' : ', held.doc], Level.choice)
    }
    // `a ?? b && c` is no JavaScript.
    return orElse(object.withoutNull ?? operand(object, Level.equality), operand(first(invocation), Level.equality))
  },
  map: invocation => {
    const { e, object, type, types } = invocation
    const value = named(e, object, 'value')
    const held = heldCode(e.file, stable(value), itemOf(type))
    const applied = code([operand(first(invocation), Level.postfix), argumentList([held.doc])])
    const [mapped = ANY] = types
    const some = mapped.kind === 'fn' ? someCode(e.file, applied, mapped.result) : applied
    return code([value, ' == null ? null : ', some.doc], Level.choice)
  }
}

const RESULT: Readonly<Record<string, MethodTranslation>> = {
  is_ok: ({ object }) => code([operand(object, Level.postfix), "._tag === 'Ok'"], Level.equality),
  is_err: ({ object }) => code([operand(object, Level.postfix), "._tag === 'Err'"], Level.equality),
  unwrap: helpedOn('unwrap_ok'),
  unwrap_or: invocation => {
    const result = named(invocation.e, invocation.object, 'value')
    return code([result, "._tag === 'Ok' ? ", result, '.value : ', first(invocation).doc], Level.choice)
  }
}

const MAP: Readonly<Record<string, MethodTranslation>> = {
  get: invocation => {
    const key = first(invocation).doc
    if (isNamed(invocation.type, 'Map') && mayBeNull(itemOf(invocation.type))) return helpedOn('own_option')(invocation)
    // Every object inherits members such as `constructor`, so that a key that is not known may be one of them.
    const isKnown = typeof key === 'string' && /^'\w+'$/.test(key) && !(key.slice(1, -1) in {})
    if (!isKnown && isNamed(invocation.type, 'Map')) return helpedOn('own_value')(invocation)
    return orNull([operand(invocation.object, Level.postfix), '[', key, ']'])
  },
  has: onObject('Object.hasOwn'),
  keys: onObject('Object.keys'),
  values: onObject('Object.values'),
  entries: onObject('Object.entries'),
  len: ({ object }) => code(['Object.keys(', object.doc, ').length']),
  is_empty: ({ object }) => code(['Object.keys(', object.doc, ').length === 0'], Level.equality),
  set: invocation => {
    const [key, value] = invocation.args
    return code(['{ ...', invocation.object.doc, ', [', key?.doc ?? '', ']: ', value?.doc ?? '', ' }'])
  },
  remove: invocation => {
    const entries: Doc = ['Object.entries(', invocation.object.doc, ')']
    return code(['Object.fromEntries(', entries, '.filter(([each]) => each !== ', first(invocation).doc, '))'])
  }
}

/** Methods that several types share, for values of unknown type. */
const ANYTHING: Readonly<Record<string, MethodTranslation>> = {
  len: helpedOn('size_of'),
  is_empty: ({ e, object }) => code([e.file.helper('size_of'), '(', object.doc, ') === 0'], Level.equality),
  contains: helpedOn('contains'),
  get: MAP.get as MethodTranslation,
  map: LIST.map as MethodTranslation,
  slice: own('slice'),
  unwrap: helpedOn('unwrap_some'),
  unwrap_or: OPTION.unwrap_or as MethodTranslation,
  to_str: helpedOn('text'),
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

/** Methods by the type that owns them in the table of natives. */
const METHODS: Readonly<Record<string, Readonly<Record<string, MethodTranslation>>>> = {
  str: TEXT,
  int: INT,
  float: NUMBER,
  dec: DECIMAL,
  List: LIST,
  Option: OPTION,
  Result: RESULT,
  Map: MAP
}

/** Translates a method by its key in the table of natives: `List.map`; null if browsers cannot provide it. */
export function methodCode(native: string, invocation: MethodCall): TypeScriptCode | null {
  const [owner = '', written = ''] = native.split('.')
  const name = SAME_AS[written] ?? written
  if (name === 'to_str') return textOfObject(invocation)
  const isNumber = owner === 'int' && [invocation.bound, ...invocation.bounds].every(isExact)
  const table = isNumber ? NUMBER : Object.hasOwn(METHODS, owner) ? METHODS[owner] : undefined
  return table !== undefined && Object.hasOwn(table, name) ? (table[name] as MethodTranslation)(invocation) : null
}

/** Translates a method that the checker does not know; an unknown one keeps its name. */
export function unknownMethodCode(written: string, invocation: MethodCall): TypeScriptCode {
  const { type } = invocation
  const known = type.kind === 'named' ? methodCode(`${type.name}.${written}`, invocation) : null
  if (known !== null) return known
  const name = SAME_AS[written] ?? written
  for (const table of [ANYTHING, TEXT, LIST, OPTION, RESULT, NUMBER, MAP]) {
    const found = Object.hasOwn(table, name) ? table[name] : undefined
    if (found !== undefined) return found(invocation)
  }
  return own(written)(invocation)
}
