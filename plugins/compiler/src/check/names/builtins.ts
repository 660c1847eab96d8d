/** Number of arguments of a builtin function. */
export interface BuiltinArity {
  readonly min: number
  readonly max: number
}

const arity = (min: number, max = min): BuiltinArity => ({ min, max })

/** Functions and constructors that every program has. */
const FUNCTIONS: Readonly<Record<string, BuiltinArity>> = {
  Ok: arity(0, 1),
  Error: arity(1),
  Err: arity(1),
  Some: arity(1),
  len: arity(1),
  str: arity(1),
  print: arity(0, Number.POSITIVE_INFINITY),
  assert: arity(1, 2),
  panic: arity(0, 1),
  to_string: arity(1),
  has_capability: arity(1),
  int: arity(1),
  float: arity(1),
  bool: arity(1),
  range: arity(1, 2),
  type_of: arity(1),
  sleep: arity(1),
  state_load: arity(1),
  state_save: arity(2),
  workflow_wait: arity(1),
  workflow_wait_signal: arity(1)
}

/** Values and namespaces that every program has. `db` is not listed: a separate rule checks its uses. */
const VALUES =
  'None Unit null std OpenClaw Browser Speech HTTP secrets fs process env path json workflow mobile regex csv toml yaml io http'

export const BUILTIN_FUNCTIONS: ReadonlyMap<string, BuiltinArity> = new Map(Object.entries(FUNCTIONS))

export const BUILTINS: ReadonlySet<string> = new Set([...BUILTIN_FUNCTIONS.keys(), ...VALUES.split(' ')])
