import type { HirType } from '@svc/contracts'
import { type Eval, JUMP, type Machine } from '../machine.ts'
import { Tagged, type Value } from '../value.ts'

/**
 * Runs each call of a mutation in a transaction, for every caller, including tools and scripts.
 * A call inside another transaction joins it.
 */
export function asTransaction(machine: Machine, name: string, returns: HirType | null, run: Eval): Eval {
  const mayRefuse =
    returns === null || (typeof returns === 'object' && 'Generic' in returns && returns.Generic[0] === 'Result')
  const isRefusal = (value: Value): boolean => value instanceof Tagged && value.tag === 'Error'
  return frame => {
    const { database } = machine.host
    if (database === null || database.isInTransaction) return run(frame)
    return database.transaction(
      'write',
      () => run(frame),
      value => !(mayRefuse && isRefusal(value === JUMP ? machine.returned : value)),
      name
    )
  }
}
