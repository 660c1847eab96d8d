import { NONE, type Value } from './value.ts'

/** Builtin values. */
export const BUILTINS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['None', NONE],
  ['Unit', null],
  ['null', null]
])
