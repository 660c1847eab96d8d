import type { Fix } from '../diagnostics/diagnostic.ts'
import { insteadOfName } from '../diagnostics/other-languages.ts'
import type { Declaration } from '../syntax/ast.ts'
import type { Expression, Identifier } from '../syntax/ast-expressions.ts'
import { nearName } from '../syntax/near-name.ts'
import type { Span } from '../syntax/node.ts'
import { isViewTag } from '../syntax/view-tags.ts'
import { checkBound } from './bounds.ts'
import type { Context } from './context.ts'
import { fieldTypeOf, instantiate } from './conversions.ts'
import type { Callable } from './declare.ts'
import type { ModuleName } from './module-names.ts'
import { isNativeFunction, type NativeMember } from './natives/natives-contract.ts'
import type { Local } from './scopes.ts'
import { type Substitution, substitute } from './substitute.ts'
import { ANY, ERROR, fn, newVar, type RigidType, type Type, type VariantType } from './type.ts'

/** The meaning of a name at one position. */
export type Meaning =
  | { readonly kind: 'local'; readonly local: Local }
  | { readonly kind: 'module'; readonly entry: ModuleName }
  | { readonly kind: 'native'; readonly native: NativeMember }
  /** The first name of the path of a namespace: `std`, `mobile`. */
  | { readonly kind: 'root' }
  | null

/** Maximum number of findings with a suggestion: each compares a name with all others. */
const MAX_SUGGESTIONS = 100

export function meaningOf({ scopes, names, natives }: Context, name: string): Meaning {
  const local = scopes.lookup(name)
  if (local !== undefined) return { kind: 'local', local }
  const entry = names.get(name)
  if (entry !== undefined) return { kind: 'module', entry }
  const native = natives.global(name)
  if (native !== undefined) return { kind: 'native', native }
  return natives.isRoot(name) ? { kind: 'root' } : null
}

/** Finds the type of a name that is used as a value. */
export function inferName(context: Context, node: Identifier): Type {
  const { name } = node
  const meaning = meaningOf(context, name)
  switch (meaning?.kind) {
    case 'local':
      return meaning.local.type
    case 'module':
      return moduleValue(context, meaning.entry, node)
    case 'native':
      return nativeValue(context, meaning.native, node)
    case 'root':
      context.report('typecheck.undefined', `\`${name}\` is a namespace, not a value`, node)
      return ERROR
    default:
      if (name === 'db') {
        context.report('typecheck.db.modifier', '`db` is not a value', node, {
          suggestions: ['write `db.Table.all()`']
        })
      } else reportUndefined(context, name, node, false)
      return ERROR
  }
}

function moduleValue(context: Context, entry: ModuleName, node: Identifier): Type {
  const { declaration } = entry
  reportDeprecated(context, entry, node)
  if (isCallable(declaration)) {
    context.addUse({ kind: 'declaration', node, declaration, isCall: false })
    return functionType(context, declaration, node)
  }
  const variant = context.declarations.variant(node.name)
  if (variant !== undefined) return variantType(variant, node)
  if (declaration.kind === 'Const') context.addUse({ kind: 'declaration', node, declaration, isCall: false })
  const type = context.declarations.valueType(entry)
  if (type !== null) return type
  const isType = declaration.kind === 'Type' || declaration.kind === 'Table'
  context.report('typecheck.undefined', `\`${node.name}\` is not a value`, node, {
    suggestions: [isType ? `write \`${node.name} { … }\` with its fields` : `write \`spawn(${node.name})\``]
  })
  return ERROR
}

export function isCallable(declaration: Declaration): declaration is Callable {
  const { kind } = declaration
  return kind === 'Function' || kind === 'ExternFunction' || kind === 'Workflow' || kind === 'Activity'
}

function functionType(context: Context, declaration: Callable, origin: Span): Type {
  const { generics, params, result } = context.declarations.signature(declaration)
  const type = fn(params, result)
  return generics.length === 0 ? type : substitute(type, freshVars(generics, origin))
}

/** A constructor with fields is a function, and one without is a value. */
function variantType({ def, fields }: VariantType, origin: Span): Type {
  const owner = instantiate(def, origin)
  if (fields.length === 0) return owner
  return fn(
    fields.map(field => ({ name: field.name, type: fieldTypeOf(owner, field), isOptional: field.isOptional })),
    owner
  )
}

export function nativeValue(context: Context, native: NativeMember, origin: Span): Type {
  const type = isNativeFunction(native) ? fn(native.params, native.result) : native.type
  if (native.generics.length === 0) return type
  const by = freshVars(native.generics, origin)
  if (isNativeFunction(native)) {
    for (const [parameter, bound] of native.bounds)
      checkBound(context, by.get(parameter) ?? ANY, bound, native.path, origin)
  }
  return substitute(type, by)
}

export function freshVars(generics: readonly RigidType[], origin: Span): Substitution {
  return new Map(generics.map(each => [each, newVar(origin)]))
}

export function reportDeprecated(context: Context, { isDeprecated, declaration, name }: ModuleName, at: Span): void {
  if (!isDeprecated || declaration === context.item) return
  const related = [{ span: name, message: 'declared here' }]
  context.report('typecheck.deprecated_ident', `\`${name.text}\` is deprecated`, at, { related })
}

/** Reports a name that is not declared. A host may supply functions, so that an unknown call is only a warning. */
export function reportUndefined(context: Context, name: string, span: Span, isCall: boolean): void {
  if (isExempt(context, name)) return
  const instead = insteadOfName(name)
  if (instead !== undefined) {
    context.report('typecheck.undefined', `\`${name}\` is not declared`, span, { suggestions: [instead] })
    return
  }
  const near = context.comparisons++ < MAX_SUGGESTIONS ? nearName(name, knownNames(context)) : undefined
  context.report('typecheck.undefined', `\`${name}\` is not declared`, span, {
    ...((isCall && context.hasHost) || context.item.kind === 'Workflow' ? { severity: 'warning' } : {}),
    ...(near === undefined
      ? {}
      : {
          suggestions: [`did you mean \`${near}\`?`],
          fixes: [{ label: `write ${near}`, span, replacement: near }]
        })
  })
}

/** True for names that are never reported as undeclared. */
export function isExempt(context: Context, name: string): boolean {
  if (name === '_' || name === 'db' || (!context.isStrict && isSupplied(name, context.item))) return true
  return isTag(name, context.item)
}

export function knownNames({ scopes, names, natives }: Context): string[] {
  return [...scopes.names(), ...names.keys(), ...natives.globalNames()]
}

/** Returns the nearest of some names, unless there were too many findings already. */
export function nearest(context: Context, name: string, known: () => readonly string[]): string | undefined {
  return context.comparisons++ < MAX_SUGGESTIONS ? nearName(name, known()) : undefined
}

/** True for names that the host may supply: remote steps in workflows, and React hooks in components. */
function isSupplied(name: string, item: Declaration): boolean {
  if (name.startsWith('mesh_')) return true
  return item.kind === 'Function' && (item.role === 'component' || item.role === 'island') && name.startsWith('use_')
}

/** True if the call is an element with positional arguments; the parser cannot distinguish it from other calls. */
export function isTag(name: string, item: Declaration): boolean {
  return showsView(item) && /^[a-z]/.test(name) && isViewTag(name)
}

function showsView(item: Declaration): boolean {
  if (item.kind !== 'Function') return item.kind === 'Component' || item.kind === 'Fragment'
  const { role, result } = item
  const isElement = result?.kind === 'NamedType' && result.path.at(-1)?.text === 'Element'
  return isElement || role === 'component' || role === 'island' || role === 'loading'
}

/** Returns the variable that an assignment changes, as a whole or in part. */
function rootOf(target: Expression): Identifier | null {
  let at = target
  while (at.kind !== 'Identifier') {
    if (at.kind === 'Paren') at = at.inner
    else if (at.kind === 'Member' || at.kind === 'TupleIndex' || at.kind === 'IndexAccess') at = at.object
    else return null
  }
  return at
}

/** Reports an assignment to a name that is not mutable. */
export function checkMutable(context: Context, assigned: Expression): void {
  const target = rootOf(assigned)
  if (target === null) {
    if (assigned.kind !== 'Missing') {
      context.report('typecheck.operands', 'only a variable, or a part of one, can be assigned', assigned)
    }
    return
  }
  const meaning = meaningOf(context, target.name)
  if (meaning === null || (meaning.kind === 'local' && meaning.local.isMutable)) return
  const fixes: Fix[] = []
  const suggestions: string[] = []
  if (meaning.kind === 'local') {
    const { name, kind, canBeMutable } = meaning.local
    const at = { start: name.start, end: name.start }
    if (canBeMutable) fixes.push({ label: `write \`let mut ${name.text}\``, span: at, replacement: 'mut ' })
    else if (kind === 'parameter') suggestions.push(`write \`let mut\` with a new name; parameters are immutable`)
  }
  const message = `cannot assign to immutable variable \`${target.name}\``
  context.report('typecheck.immutable_assign', message, target, { fixes, suggestions })
}
