import type { Machine } from '../machine.ts'
import type { Value } from '../value.ts'

/** A method of one value type. */
export interface Method<Self> {
  readonly least: number
  readonly most: number
  readonly run: (self: Self, args: readonly Value[], machine: Machine, at: number) => Value
}

export type Methods<Self> = Readonly<Record<string, Method<Self>>>

export function method<Self>(least: number, most: number, run: Method<Self>['run']): Method<Self> {
  return { least, most, run }
}
