import { ANY, BOOL, FLOAT, generic, INT, NEVER, plain, STR, UNIT, type ValueType } from './type.ts'

type ArgumentTypes = readonly (ValueType | undefined)[]

const arg = (argumentTypes: ArgumentTypes): ValueType => {
  const [first = ANY] = argumentTypes
  return first
}

const BUILTIN: Readonly<Record<string, (argumentTypes: ArgumentTypes) => ValueType>> = {
  Ok: argumentTypes => generic('Result', argumentTypes.length === 0 ? UNIT : arg(argumentTypes), ANY),
  Error: () => generic('Result', ANY, ANY),
  Err: () => generic('Result', ANY, ANY),
  Some: argumentTypes => generic('Option', arg(argumentTypes)),
  len: () => INT,
  str: () => STR,
  to_string: () => STR,
  type_of: () => STR,
  print: () => UNIT,
  assert: () => UNIT,
  panic: () => NEVER,
  int: () => INT,
  float: () => FLOAT,
  dec: () => plain('dec'),
  bool: () => BOOL,
  range: () => generic('List', INT)
}

/** Returns the result type of a builtin function. */
export function builtinResult(name: string, argumentTypes: ArgumentTypes): ValueType {
  return Object.hasOwn(BUILTIN, name) ? (BUILTIN[name]?.(argumentTypes) ?? ANY) : ANY
}
