import type { Machine } from '../machine.ts'
import { compare } from '../operators.ts'
import type { Value } from '../value.ts'

/**
 * Returns a list in the ascending order of its keys, which have the same indexes; equal keys keep their order.
 * Throws `RUN_TYPE` for keys that have no order.
 */
export function sortedBy(list: readonly Value[], keys: readonly Value[], machine: Machine, at: number): Value {
  const { length } = list
  machine.allocate(16 + 16 * length)
  machine.charge(Math.ceil((length * Math.log2(length + 1)) / 16))
  const order = Array.from(keys, (_, index) => index)
  order.sort((a, b) => compare(keys[a] as Value, keys[b] as Value, at))
  return order.map(index => list[index] as Value)
}
