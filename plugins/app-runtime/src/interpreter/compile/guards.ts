import type { AuthRule } from '@svc/contracts'
import { admits } from '../../auth/admits.ts'
import { fail } from '../failure.ts'
import type { Eval, Machine } from '../machine.ts'

/** Checks the caller before each call of a guarded function, also before calls inside the program. */
export function asGuarded(machine: Machine, name: string, rule: AuthRule, at: number, run: Eval): Eval {
  return frame => {
    const { identity, isSystem } = machine.request.caller
    if (!isSystem) {
      const problem = admits(rule, identity)
      if (problem === 'unauthorized') fail('RUN_UNAUTHORIZED', `${name} needs a proven identity`, at)
      if (problem === 'forbidden') fail('RUN_FORBIDDEN', `the caller lacks a role or scope that ${name} needs`, at)
    }
    return run(frame)
  }
}
