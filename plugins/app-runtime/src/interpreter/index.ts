// Exports of this folder for tests. Sources import the files directly.

export { BUILTINS } from './builtins.ts'
export { Decimal } from './decimal.ts'
export { display } from './display.ts'
export type { Durable } from './durable.ts'
export { isEqual } from './equality.ts'
export { CAPABILITIES, type Capability, type Host } from './host.ts'
export { Interpreter } from './interpreter.ts'
export type { Limits } from './machine.ts'
export { METHODS } from './methods/call-method.ts'
export { NATIVES } from './natives.ts'
export { ANONYMOUS, type Caller, RequestContext } from './request.ts'
export { Callable, error, Float, isRecord, Json, NONE, ok, some, Tagged, Tuple, type Value } from './value.ts'
