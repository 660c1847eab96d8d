import type { Hir } from '@svc/contracts'
import type { Actor, Agent, Handler } from '../syntax/ast.ts'
import type { Argument, Call, Expression, Identifier, Member, Spawn } from '../syntax/ast-expressions.ts'
import { bare } from '../syntax/entries.ts'
import { ELEMENT, MAP, RESULT } from '../types/builtin-types.ts'
import { asList, fieldTypeOf } from '../types/conversions.ts'
import { NATIVES } from '../types/natives/natives.ts'
import { isNativeFunction, type NativeSignature } from '../types/natives/natives-contract.ts'
import { SAME_METHODS } from '../types/natives/natives-table.ts'
import { resolved, type Type } from '../types/type.ts'
import { databaseOf, isDatabaseCall } from './database.ts'
import { elementOfCall } from './element-calls.ts'
import type { Lowering } from './lowering.ts'

/** A call. A value that `|>` passes is the first argument. */
interface Site {
  readonly args: readonly Argument[]
  /** For each argument, the index of its parameter; null if the callee takes them in order, or by unknown names. */
  readonly order: readonly number[] | null
  readonly type: Hir.Type
  readonly span: Hir.Span
}

/** Names of the constructors that every program has, by the names in programs. */
const CONSTRUCTORS: Readonly<Record<string, string>> = { Some: 'Some', Ok: 'Ok', Error: 'Error', Err: 'Error' }

/** Lowers a call. The answer of an operation of the database is its value. */
export function callOf(lowering: Lowering, call: Call): Hir.Expr {
  if (isDatabaseCall(lowering, call)) return databaseOf(lowering, call, false)
  const { module } = lowering
  return lowerCall(lowering, call.callee, {
    args: call.args,
    order: module.typed.callOf(call)?.order ?? null,
    type: module.types.of(module.typeOf(call)),
    span: module.span(call)
  })
}

/** Lowers `left |> right`: a call of `right` with `left` as its first argument. */
export function pipeOf(
  lowering: Lowering,
  left: Expression,
  right: Expression,
  type: Hir.Type,
  span: Hir.Span
): Hir.Expr {
  const { module } = lowering
  const first: Argument = { kind: 'Argument', start: left.start, end: left.end, name: null, value: left }
  if (right.kind !== 'Call') return lowerCall(lowering, right, { args: [first], order: null, type, span })
  return lowerCall(lowering, right.callee, {
    args: [first, ...right.args],
    order: module.typed.callOf(right)?.order ?? null,
    type,
    span: module.span(right)
  })
}

function lowerCall(lowering: Lowering, callee: Expression, site: Site): Hir.Expr {
  if (callee.kind === 'Identifier') return callNamed(lowering, callee, site)
  if (callee.kind === 'Member') return callMember(lowering, callee, site)
  return callValue(lowering, lowering.value(callee), lowering.module.typeOf(callee), site)
}

function callNamed(lowering: Lowering, callee: Identifier, site: Site): Hir.Expr {
  const { module, scope } = lowering
  const { name } = callee
  const value = (): Hir.Expr => callValue(lowering, lowering.value(callee), module.typeOf(callee), site)
  if (scope.lookup(name) !== undefined) return value()
  const entry = module.name(name)
  if (entry !== undefined) {
    switch (entry.declaration.kind) {
      case 'Function':
      case 'ExternFunction':
      case 'Workflow':
      case 'Activity':
        return { kind: 'Call', type: site.type, name, ...argumentsOf(lowering, site), ...site.span }
    }
    const variant = module.variant(name)
    if (variant !== undefined && variant.fields.length > 0) return variantOf(lowering, name, site)
    return elementOfCall(lowering, name, site) ?? value()
  }
  const native = module.native(name)
  if (native === undefined) {
    const isElement = module.typeOf(callee) === ELEMENT || site.type === module.types.of(ELEMENT)
    return (isElement ? elementOfCall(lowering, name, site) : null) ?? value()
  }
  if (!isNativeFunction(native)) return value()
  if (Object.hasOwn(CONSTRUCTORS, name)) return variantOf(lowering, CONSTRUCTORS[name] as string, site)
  return callNative(lowering, native, null, site)
}

function argumentsOf(lowering: Lowering, { args, order }: Site): Hir.Arguments {
  return { args: values(lowering, args), params: order ?? args.map((_, index) => index), options: null }
}

function values(lowering: Lowering, args: readonly Argument[]): Hir.Expr[] {
  return args.map(({ value }) => lowering.value(value))
}

function variantOf(lowering: Lowering, name: string, { type, span, ...site }: Site): Hir.Variant {
  const { args, params } = argumentsOf(lowering, { type, span, ...site })
  // `Ok()` is `Ok(Unit)`.
  if (name === 'Ok' && args.length === 0) {
    const unit: Hir.Unit = { kind: 'Unit', type: lowering.module.types.unit, ...span }
    return { kind: 'Variant', type, name, args: [unit], fields: [0], ...span }
  }
  return { kind: 'Variant', type, name, args, fields: params, ...span }
}

function callNative(
  lowering: Lowering,
  native: NativeSignature,
  receiver: Hir.Expr | null,
  { args, type, span }: Site
): Hir.CallNative {
  return {
    kind: 'CallNative',
    type,
    native: keyOf(native),
    receiver,
    args: values(lowering, args),
    options: null,
    ...span
  }
}

const keys = new WeakMap<NativeSignature, string>()

/** Returns the key of a native: a method that several types share has that of the type that the table lists. */
function keyOf(native: NativeSignature): string {
  if (native.receiver === null) return native.path
  const known = keys.get(native)
  if (known !== undefined) return known
  const [owner = '', name = ''] = native.path.split('.')
  const listed = Object.hasOwn(SAME_METHODS, owner) ? SAME_METHODS[owner] : owner
  const key = `${isOfEveryValue(name) ? 'any' : listed}.${name}`
  keys.set(native, key)
  return key
}

function isOfEveryValue(name: string): boolean {
  return name === 'to_str' || name === 'to_string'
}

function callMember(lowering: Lowering, callee: Member, site: Site): Hir.Expr {
  const { module, scope } = lowering
  const path = module.namespacePath(callee, name => scope.lookup(name) !== undefined)
  if (path !== null) {
    const member = NATIVES.namespace(path.slice(0, path.lastIndexOf('.')))?.get(callee.property.text)
    if (member !== undefined && isNativeFunction(member)) return callNative(lowering, member, null, site)
    return callValue(lowering, lowering.value(callee), module.typeOf(callee), site)
  }
  return callMethod(lowering, callee, site)
}

function callMethod(lowering: Lowering, callee: Member, site: Site): Hir.Expr {
  const name = callee.property.text
  const known = resolved(lowering.module.typeOf(callee.object))
  if (known.kind === 'answer') {
    // The methods of a Result come first; others are those of the value.
    const ofResult = isOfEveryValue(name) ? undefined : NATIVES.method(RESULT, name)
    if (ofResult !== undefined) return callNative(lowering, ofResult, lowering.result(callee.object), site)
  }
  const receiver = lowering.value(callee.object)
  const type = asList(resolved(known.kind === 'answer' ? known.value : known))
  if (type.kind === 'named') {
    const { def } = type
    if (def.kind === 'actor') return callHandler(lowering, receiver, def.declaration as Actor | Agent, name, site)
    const method = NATIVES.method(def, name)
    if (method !== undefined) return callNative(lowering, method, receiver, site)
    const field = def.fields?.get(name)
    if (field !== undefined) return callField(lowering, callee, receiver, fieldTypeOf(type, field), site)
  }
  if (type.kind === 'record') {
    const field = type.fields.get(name)
    if (field !== undefined) return callField(lowering, callee, receiver, field, site)
  }
  const isRecord = type.kind === 'record' || (type.kind === 'named' && type.def.fields !== null)
  const ofRecord = isRecord ? NATIVES.method(MAP, name) : undefined
  if (ofRecord !== undefined) return callNative(lowering, ofRecord, receiver, site)
  const isOpen = type.kind === 'any' || type.kind === 'error' || type.kind === 'named'
  if (!isOpen && isOfEveryValue(name)) return toText(name, receiver, site)
  return dynamic(lowering, receiver, name, site)
}

function toText(name: string, receiver: Hir.Expr, { type, span }: Site): Hir.CallNative {
  return { kind: 'CallNative', type, native: `any.${name}`, receiver, args: [], options: null, ...span }
}

/** Lowers a call of a method that is known only when the program runs. */
function dynamic(lowering: Lowering, receiver: Hir.Expr, method: string, { args, type, span }: Site): Hir.CallMethod {
  const names = args.some(({ name }) => name !== null) ? args.map(({ name }) => name?.text ?? null) : null
  return { kind: 'CallMethod', type, receiver, method, args: values(lowering, args), names, ...span }
}

/** Lowers a call of a function that a field holds. */
function callField(lowering: Lowering, callee: Member, object: Hir.Expr, known: Type, site: Site): Hir.CallValue {
  const { module } = lowering
  const span = module.span(callee)
  const field: Hir.Field = { kind: 'Field', type: module.types.of(known), object, name: callee.property.text, ...span }
  return callValue(lowering, field, known, site)
}

/** Lowers a call of a value. Names of arguments are those of the parameters of its type. */
function callValue(lowering: Lowering, callee: Hir.Expr, known: Type, { args, type, span }: Site): Hir.CallValue {
  const callable = resolved(known.kind === 'answer' ? known.value : known)
  const names = callable.kind === 'fn' ? callable.params.map(param => param.name) : []
  return { kind: 'CallValue', type, callee, args: values(lowering, args), params: orderOf(args, names), ...span }
}

/** Returns the index of the parameter of each argument. */
function orderOf(args: readonly Argument[], names: readonly (string | null)[]): number[] {
  return args.map(({ name }, index) => {
    const found = name === null ? -1 : names.indexOf(name.text)
    return found < 0 ? index : found
  })
}

function callHandler(lowering: Lowering, target: Hir.Expr, actor: Actor | Agent, method: string, site: Site): Hir.Expr {
  const handlers = actor.members.flatMap(member => (member.kind === 'Handler' ? [member] : []))
  const named = (event: string): Handler | undefined => handlers.find(each => each.event.text === event)
  const { type, span } = site
  const own = { kind: 'CallHandler', type, target, actor: actor.name.text, ...span } as const
  if (named(method) !== undefined) {
    return { ...own, event: method, isSend: false, ...argumentsOf(lowering, site) }
  }
  if (isOfEveryValue(method)) return toText(method, target, site)
  const [first, ...rest] = site.args
  const event = first === undefined ? undefined : bare(first.value)
  if (method !== 'send' || event?.kind !== 'String' || named(event.value) === undefined) {
    return dynamic(lowering, target, method, site)
  }
  return { ...own, event: event.value, isSend: true, ...argumentsOf(lowering, { ...site, args: rest }) }
}

/** Lowers `spawn(Actor)` and `spawn(Actor(1))`. */
export function spawnOf(lowering: Lowering, { target }: Spawn, type: Hir.Type, span: Hir.Span): Hir.Expr {
  const { module } = lowering
  const args = target.kind === 'Call' ? target.args : []
  const named = target.kind === 'Call' ? target.callee : target
  const declaration = named.kind === 'Identifier' ? module.name(named.name)?.declaration : undefined
  if (named.kind !== 'Identifier' || (declaration?.kind !== 'Actor' && declaration?.kind !== 'Agent')) {
    const name = named.kind === 'Identifier' ? named.name : 'an expression'
    return { kind: 'Unresolved', type, name: `spawn of ${name}`, ...span }
  }
  const params = declaration.kind === 'Actor' ? (declaration.params ?? []) : []
  const order = orderOf(
    args,
    params.map(param => param.name.text)
  )
  return { kind: 'Spawn', type, actor: named.name, ...argumentsOf(lowering, { args, order, type, span }), ...span }
}
