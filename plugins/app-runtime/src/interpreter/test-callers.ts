import { fail, RunError } from './failure.ts'
import type { Machine } from './machine.ts'
import type { Caller } from './request.ts'
import type { Callable, Value } from './value.ts'

/** Calls a function of a test as another caller. Throws `RUN_UNSUPPORTED` outside tests. */
export function callAs(machine: Machine, caller: Caller, run: Callable): Value {
  if (!machine.isTest) fail('RUN_UNSUPPORTED', 'only a test can set its caller')
  return machine.as(caller, () => run.call([], -1))
}

const REFUSALS: ReadonlySet<string> = new Set(['RUN_UNAUTHORIZED', 'RUN_FORBIDDEN'])

/** Calls a function of a test, and returns whether a guard refuses the caller. Throws `RUN_UNSUPPORTED` outside tests. */
export function isRefused(machine: Machine, run: Callable): boolean {
  if (!machine.isTest) fail('RUN_UNSUPPORTED', 'only a test can ask whether a guard refuses')
  const { depth } = machine
  try {
    run.call([], -1)
    return false
  } catch (thrown) {
    if (!(thrown instanceof RunError) || !REFUSALS.has(thrown.code)) throw thrown
    machine.depth = depth
    return true
  }
}
