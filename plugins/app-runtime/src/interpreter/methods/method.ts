import type { Machine } from '../machine.ts'
import type { Value } from '../value.ts'

/** A method of one value type. */
export interface Method<Self> {
  readonly minArgs: number
  readonly maxArgs: number
  readonly run: (self: Self, args: readonly Value[], machine: Machine, at: number) => Value
}

export type Methods<Self> = Readonly<Record<string, Method<Self>>>

export function method<Self>(minArgs: number, maxArgs: number, run: Method<Self>['run']): Method<Self> {
  return { minArgs, maxArgs, run }
}
