import type { Hir, HirType } from '@svc/contracts'
import { callOptions } from '../../workflows/call-options.ts'
import { durationOf } from '../duration.ts'
import { fail } from '../failure.ts'
import type { CallFrame, Eval, Machine } from '../machine.ts'
import { typeName } from '../type-name.ts'
import { isInt, isList, type Value } from '../value.ts'
import type { BodyCompiler } from './body-compiler.ts'
import { callOfUnit } from './calls.ts'
import { isResultType, runBody } from './durable.ts'
import type { FunctionUnit } from './functions.ts'

/** Attempts of a deferred call: the first, and its retries. */
const OPTIONS: Value = new Map<string, Value>([
  ['retries', 3],
  ['initial_backoff', 1000]
])

/**
 * Compiles `run_later(after, f(args))` and `run_at(time, f(args))`; null for other calls. The arguments are evaluated
 * now; the function is called by a workflow run, which is stored in the transaction of the caller. Returns the id of the
 * run.
 */
export function compileLater(body: BodyCompiler, { native, args, start: at }: Hir.CallNative): Eval | null {
  if (native !== 'run_later' && native !== 'run_at') return null
  const [when, call] = args
  const unit = call?.kind === 'Call' ? body.names.function(call.name) : undefined
  if (when === undefined || call?.kind !== 'Call' || unit === undefined || unit.takesOptions === true) {
    const first = native === 'run_later' ? 'a duration' : 'a time'
    return () => fail('RUN_ARGUMENTS', `${native} needs ${first} and a call of a function of the program`, at)
  }
  const collected: FunctionUnit = Object.create(unit, {
    // The arguments in the order of the parameters, with defaults, in place of the result.
    run: { value: (frame: CallFrame): Value => frame.slice(0, unit.params.length) as Value[] }
  })
  const time = body.value(when)
  const evaluate = callOfUnit(body, collected, call)
  const { machine } = body
  return frame => {
    const { workflows } = machine
    if (workflows === null) return fail('RUN_UNSUPPORTED', `${unit.name} cannot be called later here`, at)
    const due =
      native === 'run_later' ? workflows.now() + Math.max(0, durationOf(time(frame))) : timeOf(time(frame), at)
    return workflows.later(unit.name, due, evaluate(frame))
  }
}

/** Defines the workflow that performs the deferred calls of a function. */
export function defineLater(machine: Machine, unit: FunctionUnit, returns: HirType | null): void {
  const { name, params } = unit
  machine.workflows?.defineLater({
    name,
    plannedSteps: 2,
    params: 2,
    run: ([due = null, args = null]) => {
      const { workflow, workflows } = machine
      if (workflow === null || workflows === null || !isList(args))
        return fail('RUN_UNSUPPORTED', `${name} is not a deferred call`, unit.at)
      // The wait is a step in any case: a repeated turn has the same steps.
      workflow.wait(Math.max(0, Number(due) - workflows.now()))
      return workflow.activity({
        name,
        options: callOptions('activity', name, [OPTIONS]),
        params,
        args,
        isResult: isResultType(returns),
        run: () => runBody(machine, unit, unit.run, args)
      })
    }
  })
}

/** Returns a time in Unix milliseconds. */
function timeOf(value: Value, at: number): number {
  return isInt(value) ? Number(value) : fail('RUN_TYPE', `a time must be an int, found ${typeName(value)}`, at)
}
