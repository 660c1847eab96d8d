// toestub-ignore(arch/god_object) - the forms of calls share the comparison of arguments with parameters
import { spellingFix } from '../diagnostics/diagnostic.ts'
import type { Handler } from '../syntax/ast.ts'
import type { Argument, Call, Expression, Identifier, Member, Spawn } from '../syntax/ast-expressions.ts'
import { bare } from '../syntax/entries.ts'
import { nearName } from '../syntax/near-name.ts'
import type { Span } from '../syntax/node.ts'
import { checkBound } from './bounds.ts'
import { BOOL, CHAR, ELEMENT, INT, MAP, map, OPTION, option, RESULT, result, STR, UNIT } from './builtin-types.ts'
import type { Context, Inference, Why, Within } from './context.ts'
import { asList, coerce, fieldTypeOf, instantiate, unwrapped } from './conversions.ts'
import { inferDatabase } from './database.ts'
import { MODIFIERS } from './db/chain.ts'
import type { Signature } from './declare.ts'
import { durationProblems } from './durations.ts'
import { checkCrate, namespacePath, reportMissingMember } from './members.ts'
import { isNativeFunction, type NativeSignature } from './natives/natives-contract.ts'
import { expectArguments } from './records.ts'
import { freshVars, isCallable, isTag, meaningOf, nearest, reportDeprecated, reportUndefined } from './resolve.ts'
import { show } from './show.ts'
import { substitute } from './substitute.ts'
import { ANY, ERROR, fn, newVar, type ParamType, param, resolved, type Type, type VariantType } from './type.ts'
import type { ResolvedCall } from './typed-module.ts'
import { unify } from './unify.ts'

/** The type that the place of a call expects. */
export interface Expected {
  readonly type: Type
  readonly why: Why
}

/** A call with the value that `|>` passes as its first argument. */
interface CallSite {
  readonly call: Call | null
  readonly args: readonly Argument[]
  readonly at: Span
  readonly expected: Expected | null
}

/** Something that is called, with its parameters. */
interface Callee {
  readonly name: string
  readonly params: readonly (ParamType & { readonly span?: Span })[]
  readonly result: Type
  /** Where it is declared. */
  readonly declared: Span | null
  readonly isVariadic?: boolean
  /** False for natives, whose parameters have no names at run time. */
  readonly takesNames: boolean
  /** Constructors whose argument is a part of a literal: a mismatch is one of the whole. */
  readonly within?: (argument: Type) => Type
}

export function inferCall(inference: Inference, call: Call, expected: Expected | null): Type {
  return inferDatabase(inference, call) ?? callOf(inference, call.callee, { call, args: call.args, at: call, expected })
}

/** Finds the type of `left |> right`: a call of `right` with `left` as its first argument. */
export function inferPipe(
  inference: Inference,
  left: Expression,
  right: Expression,
  at: Span,
  expected: Expected | null
): Type {
  const first: Argument = { kind: 'Argument', start: left.start, end: left.end, name: null, value: left }
  const call = right.kind === 'Call' ? right : null
  const callee = call === null ? right : call.callee
  const args = call === null ? [first] : [first, ...call.args]
  return callOf(inference, callee, { call, args, at: call ?? at, expected })
}

function callOf(inference: Inference, callee: Expression, site: CallSite): Type {
  if (callee.kind === 'Identifier') return callNamed(inference, callee, site)
  if (callee.kind === 'Member') return callMember(inference, callee, site)
  return callValue(inference, inference.infer(callee), callee, site)
}

function callNamed(inference: Inference, callee: Identifier, site: CallSite): Type {
  const { context } = inference
  const { name } = callee
  const meaning = meaningOf(context, name)
  switch (meaning?.kind) {
    case 'local':
      context.record(callee, meaning.local.type)
      return callValue(inference, meaning.local.type, callee, site)
    case 'native':
      if (isNativeFunction(meaning.native)) {
        context.addUse({ kind: 'native', node: callee, native: meaning.native, path: name })
        return callNative(inference, meaning.native, name, site, null)
      }
      return callValue(inference, inference.infer(callee), callee, site)
    case 'module': {
      const { entry } = meaning
      const { declaration } = entry
      if (isCallable(declaration)) {
        reportDeprecated(context, entry, callee)
        context.addUse({ kind: 'declaration', node: callee, declaration, isCall: true })
        const signature = context.declarations.signature(declaration)
        return callSignature(inference, signature, name, site, { kind: 'declaration', declaration })
      }
      const variant = context.declarations.variant(name)
      if (variant !== undefined && !variant.isRecord) {
        reportDeprecated(context, entry, callee)
        return callVariant(inference, variant, site)
      }
      const props = context.declarations.properties(declaration)
      if (props !== null) {
        reportDeprecated(context, entry, callee)
        return passed(inference, { name, params: props, result: ELEMENT, declared: entry.name, takesNames: true }, site)
      }
      if (
        entry.kind === 'other' &&
        variant === undefined &&
        declaration.kind !== 'Type' &&
        declaration.kind !== 'Table'
      ) {
        inferAll(inference, site.args)
        return ANY
      }
      // A component of another language takes its properties by name.
      return callValue(inference, inference.infer(callee), callee, site, true)
    }
    case 'root':
      inferAll(inference, site.args)
      context.report('typecheck.not_a_function', `\`${name}\` is a namespace, not a function`, callee)
      return ERROR
    default:
      inferAll(inference, site.args)
      if (isTag(name, context.item)) return ELEMENT
      if (name === 'db') return inference.infer(callee)
      reportUndefined(context, name, callee, true)
      return ANY
  }
}

/** For natives that take a duration, the index of that argument. */
const DURATIONS: ReadonlyMap<string, number> = new Map([
  ['sleep', 0],
  ['workflow_wait', 0],
  ['run_later', 0],
  ['std.files.url', 1]
])

/** Checks the duration of a native that takes one, if it is a literal. */
function checkDuration(context: Context, name: string, { args }: CallSite): void {
  const given = args[DURATIONS.get(name) ?? -1]
  if (given !== undefined) context.diagnostics.push(...durationProblems(`the duration of \`${name}\``, given.value))
}

function inferAll(inference: Inference, args: readonly Argument[]): void {
  for (const { value } of args) inference.check(value, ANY, OPEN)
}

/** For values that any type fits. */
const OPEN: Why = { code: 'typecheck.arg_mismatch', message: 'the argument has another type' }

function callVariant(inference: Inference, variant: VariantType, site: CallSite): Type {
  const owner = instantiate(variant.def, site.at)
  if (variant.fields.length === 0) {
    inferAll(inference, site.args)
    const { name } = variant
    inference.context.report('typecheck.not_a_function', `\`${name}\` has no fields, so it is not called`, site.at, {
      fixes: site.args.length > 0 ? [] : [{ label: `write ${name}`, span: site.at, replacement: name }]
    })
    return owner
  }
  expectArguments(owner, site.expected?.type ?? null)
  const params = variant.fields.map(field => ({
    name: field.name,
    type: fieldTypeOf(owner, field),
    isOptional: field.isOptional,
    ...(field.field === null ? {} : { span: field.field })
  }))
  const callee: Callee = { name: variant.name, params, result: owner, declared: variant.span, takesNames: true }
  return passed(inference, callee, site, { kind: 'constructor', def: variant.def, name: variant.name })
}

function callSignature(
  inference: Inference,
  { generics, params, result: declared, name: declaredName }: Signature,
  name: string,
  site: CallSite,
  target: ResolvedCall['target']
): Type {
  if (generics.length === 0) {
    return passed(inference, { name, params, result: declared, declared: declaredName, takesNames: true }, site, target)
  }
  const by = freshVars(generics, site.at)
  const returned = substitute(declared, by)
  const head = resolved(returned)
  if (head.kind === 'named') expectArguments(head, site.expected?.type ?? null)
  const own = params.map(each => ({ ...each, type: substitute(each.type, by) }))
  return passed(
    inference,
    { name, params: own, result: returned, declared: declaredName, takesNames: true },
    site,
    target,
    [...by.values()]
  )
}

const CONSTRUCTORS: Readonly<Record<string, (argument: Type) => Type>> = {
  Some: option,
  Ok: argument => result(argument, ANY),
  Error: argument => result(ANY, argument),
  Err: argument => result(ANY, argument)
}

function callNative(
  inference: Inference,
  native: NativeSignature,
  name: string,
  site: CallSite,
  receiver: Type | null
): Type {
  const { context } = inference
  if (receiver === null) checkDuration(context, name, site)
  const isConstructor = receiver === null && Object.hasOwn(CONSTRUCTORS, name)
  const by = freshVars(native.generics, site.at)
  if (receiver !== null && native.receiver !== null) unify(substitute(native.receiver, by), receiver)
  const returned = substitute(native.result, by)
  context.noteError(returned)
  const head = resolved(returned)
  if (head.kind === 'named') expectArguments(head, site.expected?.type ?? null)
  const callee: Callee = {
    name,
    params: native.params.map(each => ({ ...each, type: substitute(each.type, by) })),
    result: returned,
    declared: null,
    isVariadic: native.isVariadic,
    takesNames: false,
    ...(isConstructor ? { within: CONSTRUCTORS[name] as (argument: Type) => Type } : {})
  }
  const found = passed(inference, callee, site, { kind: 'native', native }, [...by.values()])
  // `Ok()` is `Ok(Unit)`.
  if (name === 'Ok' && site.args.length === 0 && head.kind === 'named') unify(head.args[0] as Type, UNIT)
  for (const [parameter, bound] of native.bounds)
    checkBound(context, by.get(parameter) ?? ANY, bound, name, site.args[0]?.value ?? site.at)
  return found
}

function callMember(inference: Inference, callee: Member, site: CallSite): Type {
  const { context } = inference
  const path = namespacePath(context, callee)
  if (path !== null) return callNamespace(inference, callee, path, site)
  checkCrate(context, callee)
  const object = inference.infer(callee.object)
  if (unwrapped(object).kind === 'var') context.settle()
  const known = unwrapped(object)
  if (known.kind === 'var') return callLater(inference, callee, known, site)
  return callMethod(inference, callee, object, site)
}

function callNamespace(inference: Inference, callee: Member, path: string, site: CallSite): Type {
  const { context } = inference
  const owner = path.slice(0, path.lastIndexOf('.'))
  const members = context.natives.namespace(owner)
  const member = members?.get(callee.property.text)
  if (member !== undefined && isNativeFunction(member)) {
    context.addUse({ kind: 'native', node: callee, native: member, path })
    return callNative(inference, member, path, site, null)
  }
  context.addUse({ kind: 'host', node: callee, path })
  inferAll(inference, site.args)
  if (member === undefined) reportMissingMember(context, callee, path)
  else context.report('typecheck.not_a_function', `\`${path}\` is a value, not a function`, callee.property)
  return member === undefined ? ANY : ERROR
}

/** Finds the type of a method call when that of its receiver is known. */
function callLater(inference: Inference, callee: Member, object: Type, site: CallSite): Type {
  const { context } = inference
  const found = site.args.map(({ value }) => inference.infer(value))
  const type = newVar(site.at)
  context.when(object, callee.property, known => {
    const args = site.args.map((argument, index) => ({ ...argument, type: found[index] as Type }))
    context.found(type, callMethod(typed(inference, args), callee, known, { ...site, expected: null }), callee)
  })
  return type
}

/** An inference that knows the types of some arguments already, since they are compared after their place. */
function typed(inference: Inference, args: readonly (Argument & { readonly type: Type })[]): Inference {
  const types = new Map(args.map(({ value, type }) => [value, type]))
  return {
    context: inference.context,
    infer: expression => types.get(expression) ?? inference.infer(expression),
    inferDiscarded: expression => types.get(expression) ?? inference.inferDiscarded(expression),
    check(expression, expected, why) {
      const found = types.get(expression)
      if (found === undefined) return inference.check(expression, expected, why)
      return coerce(inference.context, expression, found, expected, why)
    }
  }
}

function callMethod(inference: Inference, callee: Member, object: Type, site: CallSite): Type {
  const { context } = inference
  const { property } = callee
  const name = property.text
  const type = asList(resolved(object))
  if (type.kind === 'answer') {
    // The methods of a Result come first; others are those of the value.
    const asResult = context.natives.method(RESULT, name)
    const isOfResult = asResult !== undefined && !isOfEveryValue(name)
    return callMethod(inference, callee, isOfResult ? result(type.value) : type.value, site)
  }
  if (type.kind === 'any' || type.kind === 'error' || type.kind === 'never') {
    inferAll(inference, site.args)
    // The value may be an actor.
    if (type.kind === 'any') for (const actor of context.actors) addHandlerUses(context, actor, site, name)
    return type
  }
  if (type.kind === 'named' && type.def.kind === 'actor')
    return callHandler(inference, callee, type.def.declaration, site)
  if (type.kind === 'named') {
    const method = context.natives.method(type.def, name)
    if (method !== undefined) return callNative(inference, method, name, site, type)
    const field = type.def.fields?.get(name)
    if (field !== undefined) return callValue(inference, fieldTypeOf(type, field), property, site)
    if (context.declarations.isUnknown(type.def) || type.def.kind === 'opaque' || type.def.kind === 'machine') {
      inferAll(inference, site.args)
      return context.declarations.isUnknown(type.def) ? ERROR : ANY
    }
  }
  if (type.kind === 'record') {
    const field = type.fields.get(name)
    if (field !== undefined) return callValue(inference, field, property, site)
  }
  const isRecord = type.kind === 'record' || (type.kind === 'named' && type.def.fields !== null)
  const ofRecord = isRecord ? context.natives.method(MAP, name) : undefined
  if (ofRecord !== undefined) return callNative(inference, ofRecord, name, site, map(STR, ANY))
  if (isOfEveryValue(name) && site.args.length === 0) return STR
  return unknownMethod(inference, callee, type, site)
}

function isOfEveryValue(name: string): boolean {
  return name === 'to_str' || name === 'to_string'
}

function unknownMethod(inference: Inference, { object, property }: Member, type: Type, { args }: CallSite): Type {
  const { context } = inference
  inferAll(inference, args)
  if (property.text === '') return ERROR
  const ofType = type.kind === 'named' ? (context.natives.methodNames(type.def) ?? []) : []
  const known = readsTable(object) ? [...ofType, ...MODIFIERS] : ofType
  const near = nearName(property.text, known)
  const isWrapped = type.kind === 'named' && (type.def === OPTION || type.def === RESULT)
  context.report('typecheck.unknown_method', `${show(type)} has no method \`${property.text}\``, property, {
    ...(isWrapped && near === undefined
      ? { suggestions: ['handle both cases with `match`, or unwrap the value with `.unwrap()`'] }
      : {}),
    ...spellingFix(near, property)
  })
  return ERROR
}

/** True for a call such as `db.T.all()`, which takes modifiers. */
function readsTable(expression: Expression): boolean {
  const node = bare(expression)
  if (node.kind === 'Call') return node.callee.kind === 'Member' && readsTable(node.callee.object)
  return node.kind === 'Member' && node.object.kind === 'Identifier' && node.object.name === 'db'
}

type ActorLike = Extract<
  NonNullable<Extract<Type, { kind: 'named' }>['def']['declaration']>,
  { kind: 'Actor' | 'Agent' }
>

function callHandler(inference: Inference, { property }: Member, declaration: unknown, site: CallSite): Type {
  const { context } = inference
  const actor = declaration as ActorLike
  const handlers = actor.members.flatMap(member => (member.kind === 'Handler' ? [member] : []))
  const named = (event: string): Handler | undefined => handlers.find(each => each.event.text === event)
  const handler = named(property.text)
  if (handler !== undefined) return message(inference, actor, handler, site, false)
  if (isOfEveryValue(property.text) && site.args.length === 0) return STR
  if (property.text !== 'send') return unknownHandler(inference, actor, handlers, property, property.text, site.args)
  const [first, ...rest] = site.args
  const event = first === undefined ? undefined : bare(first.value)
  if (event?.kind !== 'String') {
    inferAll(inference, site.args)
    if (first === undefined) context.report('typecheck.arity', '`send` needs the name of a handler', property)
    else addHandlerUses(context, actor, site, 'send')
    return UNIT
  }
  inference.infer(event)
  const sent = named(event.value)
  if (sent === undefined) {
    unknownHandler(inference, actor, handlers, event, event.value, rest)
    return UNIT
  }
  message(inference, actor, sent, { ...site, args: rest, expected: null }, true)
  return UNIT
}

/** Notes the handlers of an actor that a method may call; `send` may call all, if the name is not a literal. */
function addHandlerUses(context: Context, actor: ActorLike, { args: [first], at }: CallSite, method: string): void {
  const event = method === 'send' && first !== undefined ? bare(first.value) : null
  for (const member of actor.members) {
    if (member.kind !== 'Handler') continue
    const { text } = member.event
    const isCalled = text === method || (event !== null && (event.kind !== 'String' || event.value === text))
    if (isCalled) context.addUse({ kind: 'handler', node: at, declaration: actor, handler: member })
  }
}

/** Compares the arguments of a message. A message that is sent is stored, so that it must have all of them. */
function message(inference: Inference, actor: ActorLike, handler: Handler, site: CallSite, isSent: boolean): Type {
  const { context } = inference
  const { params, result: returned } = context.declarations.handler(actor, handler)
  context.addUse({ kind: 'handler', node: site.at, declaration: actor, handler })
  const needed = isSent ? params.map(each => ({ ...each, isOptional: false })) : params
  const callee: Callee = {
    name: `${actor.name.text}.${handler.event.text}`,
    params: needed,
    result: returned,
    declared: handler.event,
    takesNames: true
  }
  return passed(inference, callee, site, { kind: 'handler', declaration: actor, handler })
}

function unknownHandler(
  inference: Inference,
  actor: ActorLike,
  handlers: readonly Handler[],
  at: Span,
  event: string,
  args: readonly Argument[]
): Type {
  inferAll(inference, args)
  const near = nearName(
    event,
    handlers.map(each => each.event.text)
  )
  const text = `the actor \`${actor.name.text}\` has no handler \`${event}\``
  const replacement = 'kind' in at ? `"${near}"` : near
  inference.context.report('typecheck.actor.unknown_handler', text, at, spellingFix(near, at, replacement))
  return ERROR
}

/** Finds the type of `spawn(Actor)` and compares the arguments of `spawn(Actor(1))`. */
export function inferSpawn(inference: Inference, node: Spawn): Type {
  const { context } = inference
  const { target } = node
  const call = target.kind === 'Call' ? target : null
  const named = call === null ? target : call.callee
  const meaning = named.kind === 'Identifier' ? meaningOf(context, named.name) : null
  const entry = meaning?.kind === 'module' ? meaning.entry : null
  const declaration = entry?.kind === 'actor' ? entry.declaration : null
  context.addUse({ kind: 'spawn', node, declaration, spawn: node })
  if (entry !== null) reportDeprecated(context, entry, named)
  if (declaration === null) {
    if (call !== null) inferAll(inference, call.args)
    else if (named.kind !== 'Identifier') inference.infer(named)
    if (entry?.kind !== 'import' && target.kind !== 'Missing') reportSpawn(context, named)
    return entry?.kind === 'import' ? ANY : ERROR
  }
  const actor = declaration as ActorLike
  const def = context.declarations.def(actor.name.text)
  const handle = def === undefined ? ERROR : instantiate(def, node)
  const params = actor.kind === 'Actor' ? context.declarations.params(actor.params ?? [], new Map(), false) : []
  const callee: Callee = { name: actor.name.text, params, result: handle, declared: actor.name, takesNames: true }
  return passed(inference, callee, { call, args: call?.args ?? [], at: call ?? named, expected: null })
}

function reportSpawn(context: Context, named: Expression): void {
  const near =
    named.kind === 'Identifier'
      ? nearest(context, named.name, () =>
          [...context.names].flatMap(([known, { kind }]) => (kind === 'actor' ? [known] : []))
        )
      : undefined
  const text = named.kind === 'Identifier' ? `\`${named.name}\` is not an actor` : 'only an actor can be spawned'
  context.report('typecheck.actor.spawn_target', text, named, {
    suggestions: ['write `spawn(Name)` with the name of an actor'],
    ...spellingFix(near, named)
  })
}

function callValue(inference: Inference, callee: Type, at: Span, site: CallSite, takesNames = false): Type {
  const { context } = inference
  const shown = 'name' in at && typeof at.name === 'string' ? `\`${at.name}\`` : 'the function'
  if (unwrapped(callee).kind === 'var') context.settle()
  const type = unwrapped(callee)
  switch (type.kind) {
    case 'fn': {
      const name = 'name' in at && typeof at.name === 'string' ? at.name : 'the function'
      return passed(
        inference,
        { name, params: type.params, result: type.result, declared: null, takesNames: true },
        site
      )
    }
    case 'var': {
      if (!takesNames) refuseNames(context, shown, site)
      const args = site.args.map(({ value }) => param(unwrapped(inference.infer(value))))
      const returned = newVar(site.at)
      if (!unify(type, fn(args, returned))) context.report('typecheck.not_a_function', 'this value calls itself', at)
      return returned
    }
    case 'any':
      if (!takesNames) refuseNames(context, shown, site)
      inferAll(inference, site.args)
      return type
    case 'error':
    case 'never':
      inferAll(inference, site.args)
      return type
    default: {
      inferAll(inference, site.args)
      const name = 'name' in at && typeof at.name === 'string' ? `\`${at.name}\`` : 'the value'
      context.report('typecheck.not_a_function', `${name} is a ${show(type)}, not a function`, at)
      return ERROR
    }
  }
}

/** Reports named arguments of a function whose parameters are known only when the program runs. */
function refuseNames(context: Context, callee: string, { args }: CallSite): void {
  const named = args.find(({ name }) => name !== null)?.name
  if (named === undefined || named === null) return
  context.report('typecheck.arity', `the names of the parameters of ${callee} are unknown`, named, {
    suggestions: [BY_POSITION]
  })
}

const BY_POSITION = 'pass the arguments without names, in the order of the parameters'

/** Compares arguments with parameters. Returns the result type of the call. */
function passed(
  inference: Inference,
  callee: Callee,
  site: CallSite,
  target: ResolvedCall['target'] | null = null,
  typeArguments: readonly Type[] = []
): Type {
  const { args, call } = site
  const order = orderOf(inference.context, callee, site)
  if (order === null) {
    inferAll(inference, args)
    return callee.result
  }
  const within: Within | undefined =
    callee.within === undefined || site.expected === null
      ? undefined
      : {
          at: site.at as Expression,
          expected: site.expected.type,
          of: callee.within,
          why: site.expected.why,
          isReported: false
        }
  for (const index of checkOrder(callee, args, order)) {
    const parameter = callee.params[order[index] as number]
    const value = args[index]?.value
    if (parameter === undefined || value === undefined) continue
    inference.check(value, parameter.type, whyOf(callee, parameter, within))
  }
  if (call !== null && target !== null) {
    const taken = new Set(order)
    const defaults = callee.params.flatMap((_, index) => (taken.has(index) ? [] : [index]))
    inference.context.calls[call.id] = { target, order, defaults, typeArguments }
  }
  return callee.result
}

/**
 * Returns the indexes of arguments in the order in which they are compared. Functions come late, since the others may
 * determine the types of their parameters. An int literal for a type that is still open comes after what may make it a
 * float or a decimal.
 */
function checkOrder({ params }: Callee, args: readonly Argument[], order: readonly number[]): number[] {
  const ranks = args.map(({ value }, index): number => {
    const literal = bare(value)
    if (literal.kind === 'Lambda') return 3
    const type = resolved(params[order[index] as number]?.type ?? ANY)
    if (type.kind !== 'var') return 1
    if (literal.kind === 'Float') return 0
    if (!isIntLiteral(literal)) return 1
    if (!args.some((each, other) => isFoldOver(each.value, params[order[other] as number]?.type, type))) return 2
    type.isNumber = true
    return 4
  })
  return [...args.keys()].sort((a, b) => (ranks[a] as number) - (ranks[b] as number))
}

function isIntLiteral(literal: Expression): boolean {
  return (
    literal.kind === 'Int' ||
    (literal.kind === 'Unary' && literal.operator === '-' && bare(literal.operand).kind === 'Int')
  )
}

/** True for a lambda that combines values of an open type with others, which may be floats or decimals. */
function isFoldOver(value: Expression, expected: Type | undefined, open: Type): boolean {
  const type = resolved(expected ?? ANY)
  if (bare(value).kind !== 'Lambda' || type.kind !== 'fn') return false
  const types = type.params.map(each => resolved(each.type))
  return types.includes(open) && types.some(each => each !== open && !WHOLE.has(each))
}

/** Types whose values, and their parts, are neither floats nor decimals. */
const WHOLE: ReadonlySet<Type> = new Set([INT, STR, BOOL, CHAR])

function whyOf(callee: Callee, parameter: ParamType & { readonly span?: Span }, within: Within | undefined): Why {
  const name = parameter.name === null ? 'a parameter' : `\`${parameter.name}\``
  return {
    code: 'typecheck.arg_mismatch',
    message: `the argument does not match the type of ${name} of \`${callee.name}\``,
    ...(parameter.span === undefined ? {} : { related: { span: parameter.span, message: 'declared here' } }),
    ...(within === undefined ? {} : { within })
  }
}

/** Returns the index of the parameter of each argument; null if their number or their names are wrong. */
function orderOf(context: Context, callee: Callee, site: CallSite): number[] | null {
  const { params, isVariadic = false, takesNames } = callee
  const { args } = site
  const order: number[] = []
  const taken = new Set<number>()
  let positional = 0
  let isWrong = false
  for (const { name } of args) {
    let index: number
    if (name === null) {
      index = isVariadic ? Math.min(positional, params.length - 1) : positional
      positional++
    } else {
      index = takesNames ? params.findIndex(each => each.name === name.text) : -1
      if (index < 0) {
        if (!isWrong || params.some(each => each.name !== null)) reportParameter(context, name, callee)
        isWrong = true
      }
    }
    if (taken.has(index) && !isVariadic) isWrong = reportCount(context, callee, site, isWrong)
    taken.add(index)
    order.push(index)
  }
  if (isWrong) return null
  const isMissing = params.some(
    (each, index) => !each.isOptional && !taken.has(index) && !isVariadicParam(callee, index)
  )
  if (!isMissing && (isVariadic || positional <= params.length)) return order
  reportCount(context, callee, site, false)
  return null
}

function isVariadicParam({ params, isVariadic = false }: Callee, index: number): boolean {
  return isVariadic && index === params.length - 1
}

function reportParameter(context: Context, argument: { readonly text: string } & Span, callee: Callee): void {
  const names = callee.takesNames ? callee.params.flatMap(({ name }) => (name === null ? [] : [name])) : []
  const near = nearName(argument.text, names)
  context.report('typecheck.arity', `\`${callee.name}\` has no parameter \`${argument.text}\``, argument, {
    ...(names.length === 0 && callee.params.length > 0 ? { suggestions: [BY_POSITION] } : {}),
    ...(callee.declared === null ? {} : { related: [{ span: callee.declared, message: 'declared here' }] }),
    ...spellingFix(near, argument)
  })
}

function reportCount(context: Context, callee: Callee, { args, at }: CallSite, isTold: boolean): true {
  if (isTold) return true
  const { params, name, declared, isVariadic = false } = callee
  const max = isVariadic ? Number.POSITIVE_INFINITY : params.length
  const min = params.filter((each, index) => !each.isOptional && !isVariadicParam(callee, index)).length
  const expected = min === max ? `${min}` : `${min} to ${max}`
  const text = `\`${name}\` expected ${expected} argument${expected === '1' ? '' : 's'}, found ${args.length}`
  const related = declared === null ? [] : [{ span: declared, message: 'declared here' }]
  context.report('typecheck.arity', text, at, { related })
  return true
}
