import type { HirArgument, HirExpression, HirSpan } from '@svc/contracts'
import { ActorHandle } from '../actor-handle.ts'
import { fail, RunError } from '../failure.ts'
import type { CallFrame, Eval } from '../machine.ts'
import { callMethod } from '../methods/call-method.ts'
import { callNative, type Native } from '../native.ts'
import { typeName } from '../type-name.ts'
import { Callable, isList, type Value } from '../value.ts'
import { type BodyCompiler, unsupported } from './body-compiler.ts'
import { type FunctionUnit, invoke } from './functions.ts'
import { lookedInto } from './members.ts'
import { pathOf, rootOf } from './paths.ts'

export function compileCall(
  body: BodyCompiler,
  [callee, args, , { start: at }]: readonly [HirExpression, readonly HirArgument[], boolean, HirSpan]
): Eval {
  const { machine, names } = body
  if ('Ident' in callee && body.scope.lookup(callee.Ident[0]) === undefined) {
    const [name] = callee.Ident
    const unit = names.function(name)
    if (unit !== undefined) return callOfUnit(body, unit, args, at)
    const host = names.constructorNames(name) === null ? names.native(name) : undefined
    if (host !== undefined) return callOfNative(body, name, host, args, at)
  }
  const target = body.value(callee)
  const values = args.map(({ value }) => body.value(value))
  const named = args.find(({ name }) => name !== null)
  return frame => {
    const called = target(frame)
    if (!(called instanceof Callable)) fail('RUN_TYPE', `${typeName(called)} cannot be called`, at)
    if (named !== undefined) {
      return called.call(
        completeArguments(
          called,
          args,
          values.map(value => value(frame)),
          at
        ),
        at
      )
    }
    machine.charge(1)
    return called.call(
      values.map(value => value(frame)),
      at
    )
  }
}

type Called = Pick<Callable, 'name' | 'params'>

/** Returns named arguments in the order of the parameters. Throws if one before the last is missing. */
function completeArguments(
  called: Called,
  args: readonly HirArgument[],
  values: readonly Value[],
  at: number
): Value[] {
  const ordered = orderByName(called, args, values, at)
  for (let index = 0; index < ordered.length; index++) {
    const missing = called.params?.[index] ?? index
    if (ordered[index] === undefined) fail('RUN_ARGUMENTS', `${called.name} needs an argument ${missing}`, at)
  }
  return ordered as Value[]
}

/** Returns named arguments in the order of the parameters; a missing one is undefined. */
function orderByName(
  { name, params }: Called,
  args: readonly HirArgument[],
  values: readonly Value[],
  at: number
): (Value | undefined)[] {
  const ordered: (Value | undefined)[] = []
  for (const [index, argument] of args.entries()) {
    const position = argument.name === null ? index : (params?.indexOf(argument.name) ?? -1)
    if (position < 0) fail('RUN_ARGUMENTS', `${name} has no parameter ${argument.name}`, at)
    if (ordered[position] !== undefined) fail('RUN_ARGUMENTS', `${name} receives ${params?.[position]} twice`, at)
    ordered[position] = values[index] as Value
  }
  return ordered
}

/** Compiles a call of a program function. `options` are those of `with`, evaluated before the arguments. */
export function callOfUnit(
  body: BodyCompiler,
  unit: FunctionUnit,
  args: readonly HirArgument[],
  at: number,
  options: Eval | null = null
): Eval {
  const { machine } = body
  const values = args.map(({ value }) => body.value(value))
  const slots = args.map(({ name }, index) => (name === null ? index : unit.params.indexOf(name)))
  const unknown = slots.findIndex(
    (slot, index) => slot < 0 || slot >= unit.params.length || slots.indexOf(slot) < index
  )
  if (unknown >= 0) {
    const name = args[unknown]?.name
    const count = unit.params.length
    const takes = `takes ${count} ${count === 1 ? 'argument' : 'arguments'}, got ${args.length}`
    return () =>
      fail(
        'RUN_ARGUMENTS',
        `${unit.name} ${name === null ? takes : `has no parameter ${name}, or receives it twice`}`,
        at
      )
  }
  const isInOrder = slots.every((slot, index) => slot === index)
  if (!isInOrder || values.length < unit.params.length || options !== null) {
    return callWithDefaults(body, unit, values, slots, at, options)
  }
  const [first, second] = values
  if (values.length === 1 && first !== undefined) {
    return frame => {
      const own: CallFrame = new Array(unit.size)
      own[0] = first(frame)
      return invoke(machine, unit, own, at)
    }
  }
  if (values.length === 2 && first !== undefined && second !== undefined) {
    return frame => {
      const own: CallFrame = new Array(unit.size)
      own[0] = first(frame)
      own[1] = second(frame)
      return invoke(machine, unit, own, at)
    }
  }
  return frame => {
    const own: CallFrame = new Array(unit.size)
    for (let index = 0; index < values.length; index++) own[index] = (values[index] as Eval)(frame)
    return invoke(machine, unit, own, at)
  }
}

function callWithDefaults(
  { machine }: BodyCompiler,
  unit: FunctionUnit,
  values: readonly Eval[],
  slots: readonly number[],
  at: number,
  options: Eval | null
): Eval {
  const left = unit.params.map((_, slot) => slot).filter(slot => !slots.includes(slot))
  return frame => {
    const callOptions = options === null ? null : options(frame)
    const own: CallFrame = new Array(unit.size)
    for (let index = 0; index < values.length; index++) own[slots[index] as number] = (values[index] as Eval)(frame)
    for (const slot of left) {
      const value = unit.defaults[slot]
      if (value === null || value === undefined) {
        fail('RUN_ARGUMENTS', `${unit.name} needs an argument ${unit.params[slot]}`, at)
      }
      own[slot] = value(own)
    }
    if (callOptions !== null) machine.options = callOptions
    return invoke(machine, unit, own, at)
  }
}

function callOfNative(body: BodyCompiler, name: string, host: Native, args: readonly HirArgument[], at: number): Eval {
  const { machine } = body
  const named = args.find(argument => argument.name !== null)
  if (named !== undefined) return () => fail('RUN_ARGUMENTS', `${name} has no parameter ${named.name}`, at)
  const values = args.map(({ value }) => body.value(value))
  return frame => {
    const evaluated = values.map(value => value(frame))
    return atPosition(at, () => callNative(machine, name, host, evaluated))
  }
}

/** Adds the position to a failure without one. */
export function atPosition<A>(at: number, run: () => A): A {
  try {
    return run()
  } catch (thrown) {
    if (thrown instanceof RunError && thrown.at < 0) thrown.at = at
    throw thrown
  }
}

/** Methods whose result does not refer to their receiver. */
const LOOKS_INTO: ReadonlySet<string> = new Set([
  'len',
  'length',
  'is_empty',
  'get',
  'at',
  'first',
  'last',
  'has',
  'contains'
])
/** Methods of lists that only make a copy with another element, which is not made if nothing uses it. */
const COPIES: ReadonlySet<string> = new Set(['push', 'append'])

export function compileMethodCall(
  body: BodyCompiler,
  [object, method, args, { start: at }]: readonly [HirExpression, string, readonly HirArgument[], HirSpan],
  isDiscarded = false
): Eval {
  const path = pathOf(object)
  if (path !== null && body.names.isHost(body, rootOf(path))) {
    const name = `${path}.${method}`
    const host = body.names.native(name)
    return host === undefined ? unsupported(name, at) : callOfNative(body, name, host, args, at)
  }
  const receiver = LOOKS_INTO.has(method) ? lookedInto(body, object) : body.value(object)
  const values = args.map(({ value }) => body.value(value))
  const named = args.find(({ name }) => name !== null)
  const { machine } = body
  const isUnused = isDiscarded && COPIES.has(method) && values.length === 1
  return frame => {
    const self = receiver(frame)
    const evaluated = values.map(value => value(frame))
    if (isUnused && isList(self)) return null
    if (named === undefined) return atPosition(at, () => callMethod(machine, self, method, evaluated, at))
    if (!(self instanceof ActorHandle)) fail('RUN_ARGUMENTS', `${method} has no parameter ${named.name}`, at)
    return atPosition(at, () =>
      callMethod(machine, self, method, handlerArguments(self, method, args, evaluated, at), at)
    )
  }
}

/** Returns named arguments in the order of the handler's parameters. The first argument of `send` is the handler. */
function handlerArguments(
  { type, params }: ActorHandle,
  method: string,
  args: readonly HirArgument[],
  evaluated: readonly Value[],
  at: number
): Value[] {
  const [first = null, ...rest] = evaluated
  const takes = (event: Value): Called => ({
    name: `${type}.${event}`,
    params: params.get(typeof event === 'string' ? event : '') ?? []
  })
  // A sent message is stored, and must have all arguments; a direct call fills in defaults.
  if (method === 'send') return [first, ...completeArguments(takes(first), args.slice(1), rest, at)]
  return orderByName(takes(method), args, evaluated, at) as Value[]
}

/** Compiles a pipe: `a |> f(b)` is `f(a, b)`. */
export function compilePipe(
  body: BodyCompiler,
  [left, right, span]: readonly [HirExpression, HirExpression, HirSpan]
): Eval {
  const first: HirArgument = { name: null, value: left }
  if ('Call' in right) return compileCall(body, [right.Call[0], [first, ...right.Call[1]], false, right.Call[3]])
  if ('MethodCall' in right) {
    const [object, method, args, at] = right.MethodCall
    return compileMethodCall(body, [object, method, [first, ...args], at])
  }
  if ('FieldAccess' in right) {
    const [object, field, at] = right.FieldAccess
    return compileMethodCall(body, [object, field, [first], at])
  }
  return compileCall(body, [right, [first], false, span])
}
