import type { HirExpression, HirParam, ProgramCondition } from '@svc/contracts'
import { fail, RunError } from '../failure.ts'
import { type CallFrame, type Eval, JUMP, type Machine } from '../machine.ts'
import { truth } from '../operators.ts'
import { Callable, type Value } from '../value.ts'
import { type BodyCompiler, bindLocal } from './body-compiler.ts'
import type { Cell } from './scope.ts'

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
}

/** Compiles parameters and a body into a unit. `conditions` are checked before and after the body. */
export function compileFunction(
  body: BodyCompiler,
  unit: FunctionUnit,
  params: readonly HirParam[],
  compileBody: () => Eval,
  conditions: readonly ProgramCondition[] = []
): void {
  const { scope } = body
  for (const param of params) scope.declare(param.name, param)
  const defaults = params.map(param => (param.default === null ? null : body.value(param.default)))
  const before = conditions.filter(({ kind }) => kind !== 'ensure').map(each => compileCondition(body, unit, each))
  let run = body.catchJumps(() => body.metered(compileBody, unit.at))
  const ends = conditions.filter(({ kind }) => kind !== 'require')
  if (before.length > 0 || ends.length > 0) {
    const inner = run
    const bind = bindLocal(scope.declare('result', ends))
    const after = ends.map(each => compileCondition(body, unit, each))
    const { machine } = body
    run = frame => {
      for (const check of before) check(frame)
      const value = inner(frame)
      const result = value === JUMP ? machine.returned : value
      bind(frame, result)
      for (const check of after) check(frame)
      return result
    }
  }
  unit.defaults = defaults
  unit.size = scope.size
  unit.run = run
}

function compileCondition(
  body: BodyCompiler,
  { name }: FunctionUnit,
  { kind, condition, message }: ProgramCondition
): Eval {
  const test = body.value(condition)
  const at = startOf(condition)
  return frame => {
    if (!truth(test(frame), at)) {
      fail('RUN_ASSERTION', `${message ?? `@${kind} of ${name} failed`}`, at)
    }
    return null
  }
}

function startOf(expression: HirExpression): number {
  if ('Binary' in expression) return expression.Binary[3].start
  if ('Call' in expression) return expression.Call[3].start
  if ('MethodCall' in expression) return expression.MethodCall[3].start
  if ('Ident' in expression) return expression.Ident[1].start
  return 'Unary' in expression ? expression.Unary[2].start : -1
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
  return new Callable(unit.name, unit.params, (args, at) => {
    if (args.length > unit.params.length) {
      const [takes, got] = [unit.params.length, args.length]
      fail('RUN_ARGUMENTS', `${unit.name} takes ${takes} ${takes === 1 ? 'argument' : 'arguments'}, got ${got}`, at)
    }
    const frame: CallFrame = new Array(unit.size)
    for (let index = 0; index < args.length; index++) frame[index] = args[index] as Value
    prepare?.(frame)
    fillDefaults(unit, frame, args.length, at)
    return invoke(machine, unit, frame, at)
  })
}

function fillDefaults(unit: FunctionUnit, frame: CallFrame, argCount: number, at: number): void {
  for (let index = argCount; index < unit.params.length; index++) fillDefault(unit, frame, index, at)
}

function fillDefault(unit: FunctionUnit, frame: CallFrame, index: number, at: number): void {
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

type LambdaParts = readonly [
  params: readonly HirParam[],
  result: unknown,
  body: HirExpression,
  span: { readonly start: number }
]

/** Compiles a closure. Captured values are copied when it is created; captured mutable variables are shared cells. */
export function compileLambda(body: BodyCompiler, [params, , expression, span]: LambdaParts): Eval {
  const inner = body.inner()
  const unit: FunctionUnit = {
    name: 'fn',
    params: params.map(({ name }) => name),
    at: span.start,
    defaults: [],
    size: 0,
    run: () => null
  }
  compileFunction(inner, unit, params, () => inner.statement(expression))
  const copies = inner.scope.captures.map(({ from, to }) => [from.slot, to.slot] as const)
  const { machine } = body
  return frame => {
    const captured = copies.map(([slot]) => frame[slot] as Value | Cell)
    return callableOf(machine, unit, own => {
      for (let index = 0; index < copies.length; index++) {
        own[(copies[index] as readonly [number, number])[1]] = captured[index] as Value
      }
    })
  }
}
