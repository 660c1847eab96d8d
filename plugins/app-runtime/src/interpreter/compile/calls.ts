import type { Hir } from '@svc/contracts'
import { ActorHandle } from '../actor-handle.ts'
import { fail, RunError } from '../failure.ts'
import type { CallFrame, Eval, Machine } from '../machine.ts'
import { callMethod, METHODS } from '../methods/call-method.ts'
import type { Method } from '../methods/method.ts'
import { callNative } from '../native.ts'
import { NATIVES } from '../natives.ts'
import { typeName } from '../type-name.ts'
import { Callable, isList, type Value } from '../value.ts'
import { assignsNothing } from './assigns-nothing.ts'
import { type BodyCompiler, unsupported } from './body-compiler.ts'
import { type FunctionUnit, fillDefault, invoke } from './functions.ts'

export function compileCall(body: BodyCompiler, node: Hir.Call): Eval {
  const unit = body.names.function(node.name)
  return unit === undefined ? unsupported(node.name, node.start) : callOfUnit(body, unit, node)
}

/** Compiles a call of a function of the program. */
export function callOfUnit(
  body: BodyCompiler,
  unit: FunctionUnit,
  { args, params, options, start: at }: Hir.Call
): Eval {
  if (options !== null && unit.takesOptions !== true) return withoutOptions(at)
  const { machine } = body
  const values = args.map(arg => body.value(arg))
  const isComplete = values.length === unit.params.length && params.every((param, index) => param === index)
  if (!isComplete || options !== null) {
    return callWithDefaults(body, unit, values, params, options === null ? null : body.value(options), at)
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

/** `with` after a call that takes no options. */
function withoutOptions(at: number): Eval {
  return unsupported('`with` after an expression that is not a call of an activity or a workflow', at)
}

function callWithDefaults(
  { machine }: BodyCompiler,
  unit: FunctionUnit,
  values: readonly Eval[],
  slots: readonly number[],
  options: Eval | null,
  at: number
): Eval {
  const left = [...unit.params.keys()].filter(slot => !slots.includes(slot))
  return frame => {
    const callOptions = options === null ? null : options(frame)
    const own: CallFrame = new Array(unit.size)
    for (let index = 0; index < values.length; index++) own[slots[index] as number] = (values[index] as Eval)(frame)
    for (const slot of left) fillDefault(unit, own, slot, at)
    if (callOptions !== null) machine.options = callOptions
    return invoke(machine, unit, own, at)
  }
}

export function compileCallValue(body: BodyCompiler, { callee, args, params, start: at }: Hir.CallValue): Eval {
  const target = body.value(callee)
  const values = args.map(arg => body.value(arg))
  const { machine } = body
  const isOpen = callee.type.kind === 'any'
  return frame => {
    const called = target(frame)
    if (!(called instanceof Callable)) fail('RUN_TYPE', `${typeName(called)} cannot be called`, at)
    machine.charge(1)
    const ordered: Value[] = []
    for (let index = 0; index < values.length; index++) {
      ordered[params[index] as number] = (values[index] as Eval)(frame)
    }
    // An omitted argument is at the end, unless the others have names.
    for (let index = 0; index < ordered.length; index++) {
      if (ordered[index] === undefined) missingArgument(called, index, at)
    }
    return isOpen ? called.callOpen(ordered, at) : called.call(ordered, at)
  }
}

function missingArgument({ name, params }: Called, index: number, at: number): never {
  return fail('RUN_ARGUMENTS', `${name} needs an argument ${params?.[index] ?? index}`, at)
}

type Called = Pick<Callable, 'name' | 'params'>

export function compileCallNative(body: BodyCompiler, node: Hir.CallNative, isDiscarded: boolean): Eval {
  const { native, receiver, args, options, start: at } = node
  if (options !== null) return withoutOptions(at)
  if (receiver !== null) return methodOf(body, native, receiver, args, isDiscarded, at)
  const host = NATIVES.get(native)
  if (host === undefined) return unsupported(native, at)
  const { machine } = body
  const values = args.map(arg => body.value(arg))
  return frame => {
    const evaluated = values.map(value => value(frame))
    try {
      return callNative(machine, native, host, evaluated)
    } catch (thrown) {
      throw placed(thrown, at)
    }
  }
}

/** Adds the position to a failure without one. */
export function placed(thrown: unknown, at: number): unknown {
  if (thrown instanceof RunError && thrown.at < 0) thrown.at = at
  return thrown
}

export function compileCallMethod(body: BodyCompiler, node: Hir.CallMethod, isDiscarded: boolean): Eval {
  const { receiver, method, args, names, start: at } = node
  if (names === null) return methodOf(body, method, receiver, args, isDiscarded, at)
  const [of, values] = [body.value(receiver), args.map(arg => body.value(arg))]
  const named = names.find(each => each !== null)
  const { machine } = body
  return frame => {
    const self = of(frame)
    const evaluated = values.map(value => value(frame))
    if (!(self instanceof ActorHandle)) return fail('RUN_ARGUMENTS', `${method} has no parameter ${named}`, at)
    try {
      return callOpenMethod(machine, self, method, handlerArguments(self, method, names, evaluated, at), at)
    } catch (thrown) {
      throw placed(thrown, at)
    }
  }
}

/** Returns named arguments in the order of the handler's parameters. The first argument of `send` is the handler. */
function handlerArguments(
  { type, params }: ActorHandle,
  method: string,
  names: readonly (string | null)[],
  values: readonly Value[],
  at: number
): Value[] {
  const called = (event: Value): Called => ({
    name: `${type}.${event}`,
    params: params.get(typeof event === 'string' ? event : '') ?? []
  })
  if (method !== 'send') return orderedByName(called(method), names, values, at)
  const [event = null, ...rest] = values
  const ordered = orderedByName(called(event), names.slice(1), rest, at)
  // A sent message is stored, and must have all arguments; a direct call fills in defaults.
  for (let index = 0; index < ordered.length; index++) {
    if (ordered[index] === undefined) missingArgument(called(event), index, at)
  }
  return [event, ...ordered]
}

/** Returns named arguments in the order of the parameters; a missing one is undefined. */
function orderedByName(
  { name, params }: Called,
  names: readonly (string | null)[],
  values: readonly Value[],
  at: number
): Value[] {
  const ordered: Value[] = []
  for (const [index, given] of names.entries()) {
    const position = given === null ? index : (params?.indexOf(given) ?? -1)
    if (position < 0) fail('RUN_ARGUMENTS', `${name} has no parameter ${given}`, at)
    if (ordered[position] !== undefined) fail('RUN_ARGUMENTS', `${name} receives ${params?.[position]} twice`, at)
    ordered[position] = values[index] as Value
  }
  return ordered
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

/** Compiles a call of a method by its key, `List.map`, or only by its name if the type is not known. */
function methodOf(
  body: BodyCompiler,
  key: string,
  of: Hir.Expr,
  args: readonly Hir.Expr[],
  isDiscarded: boolean,
  at: number
): Eval {
  const { machine } = body
  const isOpen = of.type.kind === 'any' || key === 'send'
  const dot = key.lastIndexOf('.')
  const name = key.slice(dot + 1)
  const receiver = LOOKS_INTO.has(name) && args.every(assignsNothing) ? body.peek(of) : body.value(of)
  const values = args.map(arg => body.value(arg))
  const isUnused = isDiscarded && COPIES.has(name) && values.length === 1
  const method = dot === 4 && key.startsWith('List.') ? LIST_METHODS[name] : undefined
  const isComplete = method !== undefined && values.length >= method.minArgs && values.length <= method.maxArgs
  return frame => {
    const self = receiver(frame)
    const evaluated = values.map(value => value(frame))
    try {
      if (isOpen) return callOpenMethod(machine, self, name, evaluated, at)
      if (isList(self)) {
        if (isUnused) return null
        if (isComplete) return method.run(self as never, evaluated, machine, at)
      }
      return callMethod(machine, self, name, evaluated, at)
    } catch (thrown) {
      throw placed(thrown, at)
    }
  }
}

/**
 * Calls a method of a value whose type the program does not know: arguments of handlers and functions are checked, also
 * those that a method passes to a function.
 */
function callOpenMethod(machine: Machine, self: Value, name: string, args: Value[], at: number): Value {
  if (self instanceof ActorHandle) return callMethod(machine, self, name, self.check(name, args, at), at)
  const checked = args.map(arg =>
    arg instanceof Callable ? new Callable(arg.name, arg.params, (given, from) => arg.callOpen(given, from)) : arg
  )
  return callMethod(machine, self, name, checked, at)
}

const LIST_METHODS: Readonly<Record<string, Method<never>>> = METHODS.List ?? {}

/** Compiles a call of a handler, or a message to it. An omitted argument of a call takes its default. */
export function compileCallHandler(
  body: BodyCompiler,
  { target, actor, event, args, params, options, isSend, start: at }: Hir.CallHandler
): Eval {
  if (options !== null) return withoutOptions(at)
  const handle = body.value(target)
  const values = args.map(arg => body.value(arg))
  const { machine, names } = body
  const declared = names.handlerParams(actor, event)
  return frame => {
    const self = handle(frame)
    const ordered: (Value | undefined)[] = []
    for (const [index, value] of values.entries()) ordered[params[index] as number] = value(frame)
    try {
      if (!isSend) return callMethod(machine, self, event, ordered as Value[], at)
      // A sent message is stored, and must have all arguments up to the last one.
      for (let index = 0; index < ordered.length; index++) {
        if (ordered[index] === undefined) missingArgument({ name: `${actor}.${event}`, params: declared }, index, at)
      }
      return callMethod(machine, self, 'send', [event, ...(ordered as Value[])], at)
    } catch (thrown) {
      throw placed(thrown, at)
    }
  }
}

/** Compiles `spawn(A)` and `spawn(A(1, 2))`. */
export function compileSpawn(body: BodyCompiler, { actor, args, params, options, start: at }: Hir.Spawn): Eval {
  if (options !== null) return withoutOptions(at)
  const values = args.map(arg => body.value(arg))
  // Only arguments at the end may be omitted; they get their defaults when the instance is created.
  const length = Math.max(-1, ...params) + 1
  if (length > params.length) {
    return () => fail('RUN_ARGUMENTS', `spawn of ${actor} may omit only its last arguments`, at)
  }
  const { machine } = body
  return frame => {
    const spawnArgs: Value[] = new Array(length)
    for (const [index, value] of values.entries()) spawnArgs[params[index] as number] = value(frame)
    return machine.actors?.spawn(actor, spawnArgs) ?? fail('RUN_UNSUPPORTED', `${actor} cannot be spawned here`, at)
  }
}
