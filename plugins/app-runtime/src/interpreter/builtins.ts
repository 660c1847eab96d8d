import { NONE, type Value } from './value.ts'

/** Values that every program has. */
export const BUILTINS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['None', NONE],
  ['Unit', null],
  ['null', null]
])
