import { pathParameters } from '@svc/contracts'
import type {
  Actor,
  Agent,
  Component,
  Declaration,
  Decorator,
  Field,
  FunctionDeclaration,
  Handler,
  HttpRoute,
  ScriptStatement,
  StateField,
  StateMachine,
  Transition,
  Variant
} from '../syntax/ast.ts'
import type { Expression } from '../syntax/ast-expressions.ts'
import type { Type as TypeSyntax } from '../syntax/ast-types.ts'
import { BOOL } from './builtin-types.ts'
import type { Expected } from './calls.ts'
import type { Context, Why } from './context.ts'
import type { Signature } from './declare.ts'
import { addDefaultUsesIn } from './default-uses.ts'
import type { BodyInference } from './infer.ts'
import { checkOptions } from './options.ts'
import { checkForm } from './pages/form-handlers.ts'
import { checkRoute } from './pages/route-loaders.ts'
import { checkUrl } from './pages/url-parameters.ts'
import { bindPattern } from './patterns.ts'
import { meaningOf, reportUndefined } from './resolve.ts'
import { ANY, answer, named, type Type, unannotated } from './type.ts'
import { unify } from './unify.ts'

/** Decorators whose arguments may use the parameters of the function. */
const CONDITIONS: ReadonlySet<string> = new Set(['require', 'ensure', 'invariant'])

/** Roles of functions that are called from outside, in which `request` is the request. */
const EXPOSED: ReadonlySet<string> = new Set(['query', 'mutation', 'server', 'mcp.tool', 'mcp.resource'])

const RETURN = 'the function does not return its declared type'

/** Finds the types in the bodies of a declaration, and compares them with its header. */
export function inferBodies(inference: BodyInference, item: Declaration): void {
  const { context } = inference
  context.item = item
  const mark = context.scopes.enter()
  inferDeclaration(inference, item)
  context.scopes.leave(mark)
}

function inferDeclaration(inference: BodyInference, item: Declaration): void {
  const { context } = inference
  switch (item.kind) {
    case 'Function':
      inferFunction(inference, item)
      return
    case 'HttpRoute':
      inferRoute(inference, item)
      return
    case 'Activity':
    case 'Workflow': {
      const signature = context.declarations.signature(item)
      inference.params(item.params, signature.params)
      if (item.kind === 'Activity' && item.options !== null) checkOptions(inference, item.options, null)
      inferResult(inference, item.body, signature, item.result)
      return
    }
    case 'Actor':
    case 'Agent':
      inferActor(inference, item)
      return
    case 'Component':
      inferComponent(inference, item)
      return
    case 'Fragment':
      inference.params(item.params, context.declarations.properties(item) ?? [])
      inference.inferDiscarded(item.body)
      return
    case 'Const':
      inferConstant(inference, item)
      return
    case 'Type':
      if (item.definition.form === 'struct') checkDefaults(inference, item.definition.fields)
      else if (item.definition.form === 'variants') refuseDefaults(inference, item.definition.variants)
      return
    case 'Table':
      checkDefaults(inference, item.fields)
      return
    case 'Routes':
      for (const entry of item.entries) if (entry.kind === 'RouteEntry') checkRoute(context, entry, '')
      return
    case 'Form':
      checkForm(context, item)
      return
    case 'StateMachine':
      checkMachine(inference, item)
      return
    case 'Url':
      checkUrl(context, item)
  }
}

/** Finds the types of the statements outside functions, in one scope: they can use each other's variables. */
export function inferScript(inference: BodyInference, statements: readonly ScriptStatement[]): void {
  const { context } = inference
  const [first] = statements
  if (first === undefined) return
  context.item = first
  const mark = context.scopes.enter()
  for (const { statement } of statements) inference.statement(statement)
  context.scopes.leave(mark)
}

function inferFunction(inference: BodyInference, item: FunctionDeclaration): void {
  const { context } = inference
  const { role, params, decorators, body } = item
  if (EXPOSED.has(role) && !context.names.has('request')) bindImplicit(context, 'request', requestType(context))
  const signature = context.declarations.signature(item)
  inference.params(params, signature.params)
  // Members that an argument from outside omits get their defaults.
  if (EXPOSED.has(role)) for (const { type, span } of signature.params) addDefaultUsesIn(context, span, type)
  checkConditions(inference, decorators, signature.result)
  if (body !== null) inferResult(inference, body, signature, item.result)
}

function checkConditions(inference: BodyInference, decorators: readonly Decorator[], result: Type): void {
  const { context } = inference
  for (const { name, args } of decorators) {
    if (!CONDITIONS.has(name.text)) continue
    const mark = context.scopes.enter()
    if (name.text !== 'require') bindImplicit(context, 'result', result)
    for (const [index, { value }] of (args ?? []).entries()) {
      // The second argument is the message.
      if (index > 0) checkMessage(inference, name.text, value)
      else inference.check(value, BOOL, { code: 'typecheck.condition', message: `\`@${name.text}\` takes a \`bool\`` })
    }
    context.scopes.leave(mark)
  }
}

/** Reports a message that is no literal: only literals are shown when a condition fails. */
function checkMessage(inference: BodyInference, decorator: string, value: Expression): void {
  inference.infer(value)
  if (value.kind === 'String') return
  const message = `the message of \`@${decorator}\` is no literal, so it is not shown`
  inference.context.report('typecheck.arg_mismatch', message, value, {
    severity: 'warning',
    suggestions: [`write \`@${decorator}(condition, "…")\``]
  })
}

function inferResult(
  inference: BodyInference,
  body: Expression,
  { result, declaresResult }: Signature,
  annotation: TypeSyntax | null
): void {
  if (declaresResult) {
    inference.body(body, { type: result, why: returnWhy(annotation) })
    return
  }
  const found = inference.body(body, null)
  // A recursive call may have given the result a type already.
  if (!unify(result, found)) {
    inference.context.report('typecheck.branch_mismatch', 'the function returns values of different types', body)
  }
}

function returnWhy(annotation: TypeSyntax | null): Why {
  const why: Why = { code: 'typecheck.return_mismatch', message: RETURN }
  return annotation === null ? why : { ...why, related: { span: annotation, message: 'declared here' } }
}

function requestType({ natives }: Context): Type {
  const def = natives.type('Request')
  return def === undefined ? ANY : named(def)
}

/** Finds the types of a route, with `request` and the path parameters in scope. */
function inferRoute(inference: BodyInference, route: HttpRoute): void {
  const { context } = inference
  const { path, params, result, body } = route
  bindImplicit(context, 'request', requestType(context))
  for (const name of pathParameters(path.value)) bindImplicit(context, name, ANY)
  inference.params(params ?? [], context.declarations.params(params ?? [], NO_GENERICS, false))
  // A route may return a Result instead; its error becomes a status.
  const expected: Expected | null =
    result === null ? null : { type: answer(context.declarations.read(result)), why: returnWhy(result) }
  context.routes.set(route, inference.body(body, expected))
}

const NO_GENERICS = new Map<string, never>()

function inferActor(inference: BodyInference, item: Actor | Agent): void {
  const { context } = inference
  if (item.kind === 'Actor') {
    inference.params(item.params ?? [], context.declarations.params(item.params ?? [], NO_GENERICS, false))
  }
  for (const member of item.members) if (member.kind === 'StateField') inferState(inference, member)
  for (const member of item.members) {
    if (member.kind === 'Migration') inference.body(member.body, null)
    if (member.kind === 'Handler') inferHandler(inference, item, member)
  }
}

function inferState(inference: BodyInference, { form, isMutable, name, type, value }: StateField): void {
  const { context } = inference
  const annotated = type === null ? null : context.declarations.read(type)
  const initial = `the initial value of \`${name.text}\` does not have its declared type`
  if (annotated !== null && value !== null) {
    inference.check(value, annotated, { code: 'typecheck.let_mismatch', message: initial })
  }
  const found = annotated ?? (value === null ? ANY : inference.infer(value))
  const mayChange = form !== 'let' || isMutable
  context.scopes.bind({ kind: 'state', name, type: found, isMutable: mayChange, canBeMutable: !mayChange })
}

function inferHandler(inference: BodyInference, item: Actor | Agent, handler: Handler): void {
  const { context } = inference
  const mark = context.scopes.enter()
  context.part = handler
  const signature = context.declarations.handler(item, handler)
  inference.params(handler.params, signature.params)
  inferResult(inference, handler.body, signature, handler.result)
  context.part = null
  context.scopes.leave(mark)
}

function inferComponent(inference: BodyInference, item: Component): void {
  const { context } = inference
  const { members } = item
  inference.params(item.params, context.declarations.properties(item) ?? [])
  // Members may use members that are declared after them.
  for (const member of members) {
    if (member.kind !== 'State' && member.kind !== 'Derived') continue
    const isState = member.kind === 'State'
    const type = member.type === null ? unannotated(member.name) : context.declarations.read(member.type)
    context.scopes.bind({ kind: 'state', name: member.name, type, isMutable: isState, canBeMutable: false })
  }
  for (const member of members) {
    switch (member.kind) {
      case 'State':
      case 'Derived':
        inferMemberValue(inference, member)
        break
      case 'Effect':
        for (const name of member.dependencies ?? []) {
          if (meaningOf(context, name.text) === null) reportUndefined(context, name.text, name, false)
        }
        inference.body(member.body, null)
        break
      case 'Lifecycle':
        inference.body(member.body, null)
        break
      case 'View':
        inference.inferDiscarded(member.root)
        break
      default:
        inference.statement(member)
    }
  }
}

function inferMemberValue(
  inference: BodyInference,
  { kind, name, type, value }: Extract<Component['members'][number], { kind: 'State' | 'Derived' }>
): void {
  const { context } = inference
  const code = kind === 'State' ? 'typecheck.reactive.state' : 'typecheck.reactive.derived'
  const found = inference.declared(value, type, code, `\`${name.text}\``)
  const bound = context.scopes.lookup(name.text)
  if (type === null && bound !== undefined && !unify(bound.type, found)) {
    context.report(code, `\`${name.text}\` is used with another type than that of its value`, value)
  }
}

function inferConstant(inference: BodyInference, { statement }: Extract<Declaration, { kind: 'Const' }>): void {
  const { context } = inference
  if (statement.kind !== 'Let') return
  const { pattern, type, value } = statement
  const found = inference.declared(value, type, 'typecheck.let_mismatch', 'the value')
  if (pattern.kind === 'BindingPattern') {
    context.types[pattern.id] = found
    unify(context.declarations.constant(pattern.name, type), found)
    return
  }
  // The names of a pattern are bound to parts of the value.
  const mark = context.scopes.enter()
  bindPattern(context, pattern, found)
  for (const [name, entry] of context.names) {
    const local = entry.declaration === context.item ? context.scopes.lookup(name) : undefined
    if (local !== undefined) unify(context.declarations.constant(entry.name, null), local.type)
  }
  context.scopes.leave(mark)
}

function checkDefaults(inference: BodyInference, fields: readonly Field[]): void {
  const { context } = inference
  const scope = context.declarations.scopeOf(context.item)
  for (const field of fields) {
    const { name, type, value } = field
    if (value === null) continue
    const message = `the default of \`${name.text}\` does not have its declared type`
    context.part = field
    inference.check(value, context.declarations.read(type, scope), { code: 'typecheck.let_mismatch', message })
  }
  context.part = null
}

/** Reports defaults of the members of variants: every constructor call has all members. */
function refuseDefaults(inference: BodyInference, variants: readonly Variant[]): void {
  for (const { name, fields } of variants) {
    for (const { name: field, value } of fields) {
      if (value === null) continue
      inference.infer(value)
      const message = `\`${field.text}\` of the variant \`${name.text}\` cannot have a default`
      inference.context.report('typecheck.variant_default', message, value, {
        suggestions: ['pass the value to each constructor call, or put the members in a separate type']
      })
    }
  }
}

/** Compares the arguments of the targets of transitions with the parameters of their states. */
function checkMachine(inference: BodyInference, { items }: StateMachine): void {
  for (const item of items) if (item.kind === 'Transition') checkTransition(inference, item)
}

function checkTransition(inference: BodyInference, { params, from, fromArgs, target, targetArgs }: Transition): void {
  const { context } = inference
  const mark = context.scopes.enter()
  const source = context.declarations.variant(from.text)
  for (const [index, arg] of (fromArgs ?? []).entries()) {
    if (arg.kind !== 'Identifier') continue
    const name = { text: arg.name, start: arg.start, end: arg.end }
    const type = source?.fields[index]?.type ?? ANY
    context.scopes.bind({ kind: 'variable', name, type, isMutable: false, canBeMutable: false })
  }
  inference.params(params, context.declarations.params(params, NO_GENERICS, false))
  const state = context.declarations.variant(target.text)
  const given = targetArgs ?? []
  for (const [index, arg] of given.entries()) {
    const field = state?.fields[index]
    const message = `the argument does not match the type of \`${field?.name}\` of \`${target.text}\``
    if (field === undefined) inference.infer(arg)
    else inference.check(arg, field.type, { code: 'typecheck.arg_mismatch', message })
  }
  if (state !== undefined && given.length > state.fields.length) {
    const message = `\`${target.text}\` has ${state.fields.length} parameters, but the transition gives ${given.length}`
    context.report('typecheck.arity', message, target)
  }
  context.scopes.leave(mark)
}

function bindImplicit(context: Context, text: string, type: Type): void {
  const name = { text, start: 0, end: 0 }
  context.scopes.bind({ kind: 'implicit', name, type, isMutable: false, canBeMutable: false })
}
