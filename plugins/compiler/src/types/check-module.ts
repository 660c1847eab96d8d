import type { Declaration, Handler, Module, Transition } from '../syntax/ast.ts'
import type { Expression, Identifier } from '../syntax/ast-expressions.ts'
import type { NamedType as NamedTypeSyntax } from '../syntax/ast-types.ts'
import { type AnyNode, childrenOf } from '../syntax/walk.ts'
import { inferBodies, inferScript } from './bodies.ts'
import { RESULT, STR } from './builtin-types.ts'
import { checkEffects } from './check-effects.ts'
import { checkMatches } from './check-matches.ts'
import { checkConstantOrder } from './constant-order.ts'
import { Context } from './context.ts'
import { fieldTypeOf } from './conversions.ts'
import { tablesOf } from './db/db-tables.ts'
import { Declarations, type Signature } from './declare.ts'
import type { Effect } from './effect.ts'
import { effectTable } from './effects.ts'
import { groupsOf } from './groups.ts'
import { type BodyInference, inferenceOf } from './infer.ts'
import { checkJsonValues } from './json-values.ts'
import { moduleNames } from './module-names.ts'
import { NATIVES } from './natives/natives.ts'
import { isCallable } from './resolve.ts'
import { ANY, ERROR, partsOf, type RigidType, resolved, rigid, type Type, type VarType } from './type.ts'
import type { TypedModule } from './typed-module.ts'
import { forgetWoken, link } from './unify.ts'

export interface TypeOptions {
  /** Treats names that a host may supply as errors. */
  readonly strict?: boolean
  /** Whether a host may supply functions that the program calls and does not declare; true by default. */
  readonly hostFunctions?: boolean
}

/** Types of the modules that were checked: a build needs them several times. */
const checked = new WeakMap<Module, TypedModule>()

/** Returns the types of a module, which is checked at most once. */
export function typesOf(module: Module): TypedModule {
  return checked.get(module) ?? checkTypes(module)
}

/** Finds the types of a module: one walk over all bodies, callees before their callers where types are inferred. */
export function checkTypes(module: Module, { strict = false, hostFunctions = true }: TypeOptions = {}): TypedModule {
  forgetWoken()
  const names = moduleNames(module)
  const declarations = new Declarations(module, names, NATIVES)
  const tables = tablesOf(module)
  const [first] = module.items
  const context = new Context(module, names, declarations, tables, first ?? EMPTY, strict, hostFunctions)
  const inference = inferenceOf(context)
  const open = module.items.filter(item => isOpen(item, declarations))
  for (const group of groupsOf(open, referencesAmong(open))) inferGroup(inference, group)
  const isDone = new Set(open)
  for (const item of module.items) {
    if (item.kind === 'ScriptStatement' || isDone.has(item)) continue
    inferBodies(inference, item)
    context.settleAll()
  }
  const statements = module.items.filter(item => item.kind === 'ScriptStatement')
  inferScript(inference, statements)
  context.settleAll()
  const typed = typedModule(context)
  checked.set(module, typed)
  return typed
}

const EMPTY: Declaration = { kind: 'Import', start: 0, end: 0, items: [] }

/** True if inference finds a part of the header of a declaration. */
function isOpen(item: Declaration, declarations: Declarations): boolean {
  if (isCallable(item)) return declarations.signature(item).isOpen
  if (item.kind === 'Const') return item.statement.kind === 'Let' && item.statement.type === null
  if (item.kind !== 'Actor' && item.kind !== 'Agent') return false
  return item.members.some(member => member.kind === 'Handler' && member.result === null)
}

/** Returns the declarations to which others refer by their names, among those whose headers are inferred. */
function referencesAmong(open: readonly Declaration[]): (item: Declaration) => readonly Declaration[] {
  const byName = new Map<string, Declaration>()
  for (const item of open) {
    for (const name of declaredNames(item)) if (!byName.has(name)) byName.set(name, item)
  }
  return item => {
    const found = new Set<Declaration>()
    const rest: AnyNode[] = [item]
    for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
      const name = nameIn(node)
      const target = name === undefined ? undefined : byName.get(name)
      if (target !== undefined) found.add(target)
      for (const child of childrenOf(node)) rest.push(child)
    }
    return [...found]
  }
}

function nameIn(node: AnyNode): string | undefined {
  if (node.kind === 'Identifier') return (node as Identifier).name
  return node.kind === 'NamedType' ? (node as NamedTypeSyntax).path[0]?.text : undefined
}

function declaredNames(item: Declaration): string[] {
  if (item.kind === 'Const') {
    const { statement } = item
    return statement.kind === 'Let' && statement.pattern.kind === 'BindingPattern' ? [statement.pattern.name.text] : []
  }
  return 'name' in item && item.name !== null ? [item.name.text] : []
}

/** Infers declarations that refer to each other. Their types are generalised when all of them are known. */
function inferGroup(inference: BodyInference, group: readonly Declaration[]): void {
  const { context } = inference
  for (const item of group) inferBodies(inference, item)
  context.settleAll()
  for (const item of group) {
    if (isCallable(item)) generalize(context.declarations.signature(item))
    else if (item.kind === 'Actor' || item.kind === 'Agent') {
      for (const member of item.members) {
        if (member.kind === 'Handler') generalize(context.declarations.handler(item, member))
      }
    }
  }
}

/** Turns the variables of a signature into type parameters. The error of a Result is a `str` if nothing else is known. */
function generalize(signature: Signature): void {
  for (const { type } of signature.params) limit(type)
  limit(signature.result)
  closeErrors(signature.result, 0)
  const found: RigidType[] = []
  const close = (variable: VarType): void => {
    const parameter = rigid(letter(signature.generics.length + found.length))
    found.push(parameter)
    variable.link = parameter
  }
  for (const { type } of signature.params) closeVariables(type, close, 0)
  closeVariables(signature.result, close, 0)
  if (found.length > 0) signature.generics = [...signature.generics, ...found]
}

/** Maximum number of parts of an inferred type. Variables that share others can make one of any size. */
const MAX_PARTS = 1_000

function limit(type: Type): void {
  if (type.kind !== 'var') return
  let left = MAX_PARTS
  const rest: Type[] = [type]
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (--left < 0) {
      type.link = ANY
      return
    }
    rest.push(...partsOf(resolved(next)))
  }
}

function letter(index: number): string {
  return index < 7 ? 'TUVWXYZ'.charAt(index) : `T${index}`
}

const MAX_DEPTH = 100

function closeErrors(type: Type, depth: number): void {
  const inner = resolved(type)
  if (inner.kind !== 'named' || depth > MAX_DEPTH) return
  const error = inner.def === RESULT && inner.args[1] !== undefined ? resolved(inner.args[1]) : null
  if (error?.kind === 'var') link(error, STR)
  for (const arg of inner.args) closeErrors(arg, depth + 1)
}

function closeVariables(type: Type, close: (variable: VarType) => void, depth: number): void {
  const inner = resolved(type)
  if (inner.kind === 'var') {
    close(inner)
    return
  }
  if (depth > MAX_DEPTH) return
  for (const part of partsOf(inner)) closeVariables(part, close, depth + 1)
}

function typedModule(context: Context): TypedModule {
  const { module, names, declarations, diagnostics, types, conversions, calls, chains, uses, matches, records } =
    context
  const effects = effectTable(module, owner => uses.get(owner) ?? [])
  const typed: TypedModule = {
    module,
    names,
    diagnostics,
    matches,
    records,
    typeOf: (expression: Expression) => resolved(types[expression.id] ?? ERROR),
    typeOfPattern: pattern => resolved(types[pattern.id] ?? ERROR),
    conversionOf: expression => conversions[expression.id] ?? null,
    callOf: call => calls[call.id] ?? null,
    callOfElement: element => context.elementCalls.get(element) ?? null,
    chainOf: call => chains.get(call) ?? null,
    effectsOf: (declaration): ReadonlySet<Effect> => effects.effectsOf(declaration),
    resultOf: declaration => resolved(context.routes.get(declaration) ?? resultOf(declaration, declarations)),
    paramTypes: (declaration, handler) => paramTypes(declaration, handler, declarations),
    memberType: ({ type, value }) =>
      resolved(type === null ? (types[value.id] ?? ERROR) : context.declarations.read(type)),
    handlerResult: (declaration, handler) => resolved(declarations.handler(declaration, handler).result),
    defOf: name => declarations.def(name),
    usesOf: owner => uses.get(owner) ?? [],
    fieldType: fieldTypeOf
  }
  diagnostics.push(...checkEffects(module, effects))
  for (const pass of [checkConstantOrder, checkMatches, checkJsonValues])
    pass(typed, diagnostic => diagnostics.push(diagnostic))
  return typed
}

function paramTypes(
  declaration: Declaration,
  handler: Handler | Transition | undefined,
  declarations: Declarations
): readonly Type[] {
  const types = (params: readonly { readonly type: Type }[]): readonly Type[] =>
    params.map(({ type }) => resolved(type))
  if (isCallable(declaration)) return types(declarations.signature(declaration).params)
  if (declaration.kind === 'Form') {
    return declaration.items.flatMap(item =>
      item.kind === 'FormField' ? [resolved(declarations.read(item.type))] : []
    )
  }
  if (handler?.kind === 'Transition') {
    return types(declarations.params(handler.params, declarations.scopeOf(declaration), false))
  }
  if (handler !== undefined && (declaration.kind === 'Actor' || declaration.kind === 'Agent')) {
    return types(declarations.handler(declaration, handler).params)
  }
  if (declaration.kind === 'HttpRoute' || declaration.kind === 'Actor') {
    return types(declarations.params(declaration.params ?? [], declarations.scopeOf(declaration), false))
  }
  return types(declarations.properties(declaration) ?? [])
}

function resultOf(declaration: Declaration, declarations: Declarations): Type {
  if (isCallable(declaration)) return resolved(declarations.signature(declaration).result)
  if (declaration.kind === 'Const' && declaration.statement.kind === 'Let') {
    const { pattern, type } = declaration.statement
    return pattern.kind === 'BindingPattern' ? resolved(declarations.constant(pattern.name, type)) : ERROR
  }
  return 'result' in declaration ? declarations.read(declaration.result) : ERROR
}
