import type { Hir } from '@svc/contracts'
import { fail, RunError } from '../failure.ts'
import { type CallFrame, type Eval, JUMP, type Machine } from '../machine.ts'
import { truth } from '../operators.ts'
import { Callable, type Value } from '../value.ts'
import { type BodyCompiler, bindVariable } from './body-compiler.ts'
import { checkOf } from './convert.ts'
import type { Cell } from './frame.ts'

/** A callable function: its parameters are the first slots of its frame. */
export interface FunctionUnit {
  readonly name: string
  readonly params: readonly string[]
  /** Byte offset in the source. */
  readonly at: number
  /** True if its calls may have options after `with`. */
  readonly takesOptions?: true
  /** Default of a parameter; null for a required one. */
  defaults: readonly (Eval | null)[]
  size: number
  run: Eval
  /** Returns arguments from code that does not know the types of the parameters; an undefined one is left as it is. */
  check: (args: readonly Value[], at: number) => Value[]
}

/** A condition of a function, compiled; it is run with the arguments and the result. */
export type Condition = (args: CallFrame, result: Value) => void

export interface Conditions {
  readonly before: readonly Condition[]
  readonly after: readonly Condition[]
}

/** Compiles parameters and a body into a unit. */
export function compileFunction(
  body: BodyCompiler,
  unit: FunctionUnit,
  { params, defaults }: Pick<Hir.Body, 'params' | 'defaults'>,
  compileBody: () => Eval,
  { before, after }: Conditions = { before: [], after: [] }
): void {
  const { frame, machine } = body
  for (const param of params) frame.declare(param)
  unit.check = argumentCheck(body, params)
  unit.defaults = defaults.map(value => (value === null ? null : body.value(value)))
  const run = body.catchJumps(() => body.metered(compileBody, unit.at))
  unit.size = frame.size
  if (before.length === 0 && after.length === 0) {
    unit.run = run
    return
  }
  unit.run = own => {
    for (const check of before) check(own, null)
    const value = run(own)
    const result = value === JUMP ? machine.returned : value
    for (const check of after) check(own, result)
    return result
  }
}

/** Returns the check of the arguments of a function, which is made when it is needed. */
function argumentCheck(body: BodyCompiler, params: readonly Hir.LocalId[]): FunctionUnit['check'] {
  const { locals } = body.frame
  let checks: readonly ReturnType<typeof checkOf>[] | null = null
  return (args, at) => {
    checks ??= params.map(param => checkOf(body, (locals[param] as Hir.Local).type))
    return args.map((arg, index) => {
      const check = checks?.[index]
      if (check === null || check === undefined || arg === undefined) return arg
      return check(arg, (locals[params[index] as Hir.LocalId] as Hir.Local).name, at)
    })
  }
}

/**
 * Compiles a condition: code with the parameters of its function, and the variable `result` after them. `body` is a
 * separate compiler.
 */
export function compileCondition(body: BodyCompiler, { params, block }: Hir.Body, message: string): Condition {
  const { frame } = body
  for (const param of params) frame.declare(param)
  const result = frame.locals.findIndex(({ name }, id) => name === 'result' && !params.includes(id))
  const bind = result < 0 ? null : bindVariable(frame.declare(result))
  const test = body.asValue(() => body.block(block))
  const at = block.at(-1)?.start ?? -1
  const { length } = params
  return (args, value) => {
    const own: CallFrame = new Array(frame.size)
    for (let index = 0; index < length; index++) own[index] = args[index] as Value
    bind?.(own, value)
    if (!truth(test(own), at)) fail('RUN_ASSERTION', message, at)
  }
}

/** Runs a function whose arguments are in its frame. */
export function invoke(machine: Machine, unit: FunctionUnit, frame: CallFrame, at: number): Value {
  if (++machine.depth > machine.maxDepth) {
    fail('RUN_STACK_LIMIT', `calls are nested deeper than ${machine.maxDepth}`, at)
  }
  try {
    const value = unit.run(frame)
    machine.depth--
    return value === JUMP ? returnedBy(machine, unit, at) : value
  } catch (thrown) {
    throw traced(thrown, unit.name, at)
  }
}

/** Returns the value of a `return`. Throws for `break` and `continue` outside a loop. */
export function returnedBy(machine: Machine, { name }: FunctionUnit, at: number): Value {
  if (machine.jump === 'return') return machine.returned
  return fail('RUN_UNSUPPORTED', `${machine.jump} in ${name} is outside a loop`, at)
}

/** True for a stack overflow. Makes as few calls as possible, because the stack may still be full. */
export function isStackOverflow(thrown: unknown): boolean {
  return thrown instanceof RangeError && thrown.message === 'Maximum call stack size exceeded'
}

function traced(thrown: unknown, name: string, at: number): unknown {
  if (thrown instanceof RunError) {
    thrown.addCall(name, at)
    return thrown
  }
  // Deeply nested expressions overflow the JavaScript stack before the call depth limit.
  if (isStackOverflow(thrown)) {
    return new RunError('RUN_STACK_LIMIT', 'calls and expressions are nested too deep', at)
  }
  if (thrown instanceof RangeError)
    return new RunError('RUN_MEMORY_LIMIT', `a value is too large: ${thrown.message}`, at)
  return thrown
}

/** Returns a function as a value. `prepare` fills the frame before the defaults. */
export function callableOf(machine: Machine, unit: FunctionUnit, prepare?: (frame: CallFrame) => void): Callable {
  const call = (args: Value[], at: number): Value => {
    assertArity(unit, args, at)
    const frame: CallFrame = new Array(unit.size)
    for (let index = 0; index < args.length; index++) frame[index] = args[index] as Value
    prepare?.(frame)
    for (let index = args.length; index < unit.params.length; index++) fillDefault(unit, frame, index, at)
    return invoke(machine, unit, frame, at)
  }
  return new Callable(unit.name, unit.params, call, unit.check)
}

/** Throws `RUN_ARGUMENTS` for more arguments than the function has parameters. */
export function assertArity({ name, params }: FunctionUnit, args: readonly unknown[], at: number): void {
  const [takes, got] = [params.length, args.length]
  if (got > takes) {
    fail('RUN_ARGUMENTS', `${name} takes ${takes} ${takes === 1 ? 'argument' : 'arguments'}, got ${got}`, at)
  }
}

export function fillDefault(unit: FunctionUnit, frame: CallFrame, index: number, at: number): void {
  const value = unit.defaults[index]
  if (value === null || value === undefined) {
    fail('RUN_ARGUMENTS', `${unit.name} needs an argument ${unit.params[index]}`, at)
  }
  frame[index] = value(frame)
}

/** Calls a function from outside the program; undefined means the default. */
export function enter(machine: Machine, unit: FunctionUnit, args: readonly (Value | undefined)[]): Value {
  const frame: CallFrame = new Array(unit.size)
  for (const index of unit.params.keys()) {
    const arg = args[index]
    if (arg === undefined) fillDefault(unit, frame, index, unit.at)
    else frame[index] = arg
  }
  return invoke(machine, unit, frame, unit.at)
}

export function unitOf(name: string, { params, locals }: Hir.Body, at: number): FunctionUnit {
  const names = params.map(param => (locals[param] as Hir.Local).name)
  return { name, params: names, at, defaults: [], size: 0, run: () => null, check: args => [...args] }
}

/** Compiles a lambda. Captured values are copied when it is created; captured mutable variables are shared cells. */
export function compileLambda(body: BodyCompiler, node: Hir.Lambda): Eval {
  const inner = body.inner()
  const unit: FunctionUnit = {
    name: 'fn',
    params: node.params.map(param => (body.frame.locals[param] as Hir.Local).name),
    at: node.start,
    defaults: [],
    size: 0,
    run: () => null,
    check: args => [...args]
  }
  compileFunction(inner, unit, node, () => inner.statement(node.body))
  const { captures } = inner.frame
  const { machine } = body
  // Most lambdas of lists capture nothing.
  if (captures.length === 0) return () => callableOf(machine, unit)
  return frame => {
    const captured = captures.map(({ from }) => frame[from] as Value | Cell)
    return callableOf(machine, unit, own => {
      for (let index = 0; index < captures.length; index++) {
        own[(captures[index] as { readonly to: number }).to] = captured[index] as Value
      }
    })
  }
}
