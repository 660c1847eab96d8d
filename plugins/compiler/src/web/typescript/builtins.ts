import { call, code, Level, operand, stable, type TypeScriptCode } from '../../typescript/code.ts'
import { ANY, type ValueType } from '../value-types/type.ts'
import { isGeneric, isPlain } from './value-types.ts'

interface BuiltinCall {
  readonly args: readonly TypeScriptCode[]
  readonly types: readonly ValueType[]
  helper(name: string): string
  /** Returns a value as the text that `str` makes of it. */
  text(value: TypeScriptCode, type: ValueType): TypeScriptCode
  /** True if a value does not show parts of its type. */
  isHidden(type: ValueType): boolean
}

type Translation = (invocation: BuiltinCall) => TypeScriptCode

const arg = ({ args }: BuiltinCall, index = 0): TypeScriptCode => args[index] ?? stable('null')
const helped =
  (name: string): Translation =>
  invocation =>
    call(invocation.helper(name), ...invocation.args.map(each => each.doc))

const asText: Translation = invocation => {
  const [type] = invocation.types
  if (type !== undefined && isPlain(type, 'str', 'char', 'dec')) return arg(invocation)
  if (type !== undefined && isPlain(type, 'int', 'float', 'bool')) return call('String', arg(invocation).doc)
  return invocation.text(arg(invocation), type ?? ANY)
}

const BUILTINS: Readonly<Record<string, Translation>> = {
  Some: invocation => arg(invocation),
  str: asText,
  to_string: asText,
  print: ({ args, types, isHidden, text }) => {
    const shown = args.map((each, index) => {
      const type = types[index] ?? ANY
      return isHidden(type) ? text(each, type) : each
    })
    return call('console.log', ...shown.map(each => each.doc))
  },
  len: invocation => {
    const [type] = invocation.types
    if (type !== undefined && isPlain(type, 'str')) return code(['[...', arg(invocation).doc, '].length'])
    if (type !== undefined && isGeneric(type, 'List')) return code([operand(arg(invocation), Level.postfix), '.length'])
    return call(invocation.helper('size_of'), arg(invocation).doc)
  },
  assert: helped('assert'),
  panic: invocation =>
    call(invocation.helper('panic'), invocation.args.length === 0 ? "'the program panicked'" : arg(invocation).doc),
  int: helped('to_int'),
  float: helped('to_float'),
  dec: helped('to_dec'),
  bool: helped('to_bool'),
  type_of: helped('type_of'),
  range: invocation => {
    const bounds = invocation.args.length === 1 ? ['0', arg(invocation).doc] : invocation.args.map(each => each.doc)
    return call(invocation.helper('range'), ...bounds)
  }
}

/** Translates a builtin function; null if browsers cannot provide it. */
export function translateBuiltin(name: string, invocation: BuiltinCall): TypeScriptCode | null {
  return Object.hasOwn(BUILTINS, name) ? (BUILTINS[name] as Translation)(invocation) : null
}

/** Functions of `std.math` that JavaScript has under the same name. */
const MATH = new Set('sqrt cbrt exp sin cos tan asin acos atan atan2 log2 log10 floor ceil pow min max'.split(' '))

const STD: Readonly<Record<string, (args: readonly TypeScriptCode[]) => TypeScriptCode>> = {
  'math.ln': args => call('Math.log', ...args.map(each => each.doc)),
  'math.pi': () => code('Math.PI'),
  'math.e': () => code('Math.E'),
  'random.float': () => code('Math.random()'),
  'time.now_ms': () => code('Date.now()'),
  now_ms: () => code('Date.now()'),
  'crypto.uuid': () => code('crypto.randomUUID()'),
  uuid: () => code('crypto.randomUUID()'),
  'json.stringify': args => call('JSON.stringify', ...args.map(each => each.doc)),
  'json.encode': args => call('JSON.stringify', ...args.map(each => each.doc)),
  'json.quote': args => call('JSON.stringify', ...args.map(each => each.doc)),
  'log.debug': args => call('console.debug', ...args.map(each => each.doc)),
  'log.info': args => call('console.info', ...args.map(each => each.doc)),
  'log.warn': args => call('console.warn', ...args.map(each => each.doc)),
  'log.error': args => call('console.error', ...args.map(each => each.doc))
}

/** Translates a standard library function, by its path below `std`; null if browsers cannot provide it. */
export function translateStandard(path: string, args: readonly TypeScriptCode[]): TypeScriptCode | null {
  if (Object.hasOwn(STD, path)) return (STD[path] as (args: readonly TypeScriptCode[]) => TypeScriptCode)(args)
  const [space, name = ''] = path.split('.')
  if (space !== 'math') return null
  if (MATH.has(name)) return call(`Math.${name}`, ...args.map(each => each.doc))
  return null
}
