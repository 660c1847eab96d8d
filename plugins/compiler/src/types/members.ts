import { spellingFix } from '../diagnostics/diagnostic.ts'
import type { Expression, IndexAccess, Member, TupleIndex } from '../syntax/ast-expressions.ts'
import { bare } from '../syntax/entries.ts'
import type { Name } from '../syntax/node.ts'
import { ID, INT, LIST, MAP, OPTION, RESULT, STR } from './builtin-types.ts'
import type { Context, Inference } from './context.ts'
import { asList, coerce, fieldTypeOf, unwrapped } from './conversions.ts'
import { inferTable } from './database.ts'
import { isDbMember } from './db/chain.ts'
import { BOUND_TYPES, isNativeFunction } from './natives/natives-contract.ts'
import { callerType } from './request.ts'
import { meaningOf, nativeValue, nearest } from './resolve.ts'
import { CURATED_CRATES } from './rust-crates.ts'
import { show } from './show.ts'
import { ANY, ERROR, newVar, resolved, type Type } from './type.ts'

export function inferMember(inference: Inference, node: Member): Type {
  const { context } = inference
  if (isDbMember(node)) return inferTable(context, node)
  const path = namespacePath(context, node)
  if (path !== null) return namespaceMember(context, node, path)
  const caller = callerType(context, node)
  if (caller !== null) {
    inference.infer(node.object)
    return caller
  }
  checkCrate(context, node)
  const object = inference.infer(node.object)
  if (unwrapped(object).kind === 'var') {
    context.settle()
    if (unwrapped(object).kind === 'var') {
      const type = newVar(node.property)
      context.when(unwrapped(object), node.property, known => {
        context.found(type, memberOf(context, node, known), node)
      })
      return type
    }
  }
  return memberOf(context, node, object)
}

/**
 * Returns the path of a member of a namespace: `std.fs.read`; null for members of values. A name that the program
 * declares is no namespace, unless it is an import of one.
 */
export function namespacePath(context: Context, node: Member): string | null {
  const names: string[] = [node.property.text]
  let at: Expression = node.object
  while (at.kind === 'Member') {
    names.push(at.property.text)
    at = at.object
  }
  if (at.kind !== 'Identifier') return null
  const root = rootOf(context, at.name)
  return root === null ? null : [root, ...names.reverse()].join('.')
}

/** Returns the namespace that a name stands for, also if the name is an import of it. */
function rootOf(context: Context, name: string): string | null {
  const meaning = meaningOf(context, name)
  if (meaning?.kind === 'root') return name
  if (meaning?.kind !== 'module' || meaning.entry.declaration.kind !== 'Import') return null
  for (const item of meaning.entry.declaration.items) {
    if (item.kind !== 'PathImport' || item.members !== null || item.path[0]?.text !== 'std') continue
    if ((item.alias ?? item.path.at(-1)) === meaning.entry.name) return item.path.map(({ text }) => text).join('.')
  }
  return null
}

/** Reports an unknown name of a crate whose items are known. */
export function checkCrate(context: Context, { object, property }: Member): void {
  if (object.kind !== 'Identifier' || property.text === '') return
  const meaning = meaningOf(context, object.name)
  if (meaning?.kind !== 'module' || meaning.entry.declaration.kind !== 'Import') return
  const { name, declaration } = meaning.entry
  const imported = declaration.items.find(item => item.kind === 'RustImport' && (item.alias ?? item.crate) === name)
  if (imported?.kind !== 'RustImport') return
  const items = CURATED_CRATES.get(imported.crate.text)?.items ?? null
  if (items === null || items.includes(property.text)) return
  const near = nearest(context, property.text, () => items)
  const message = `the crate \`${imported.crate.text}\` has no \`${property.text}\` that programs can use`
  context.report('typecheck.rust_import.unknown_item', message, property, {
    suggestions: [`it has ${items.map(item => `\`${item}\``).join(', ')}`],
    related: [{ span: imported, message: 'imported here' }],
    ...spellingFix(near, property)
  })
}

function namespaceMember(context: Context, node: Member, path: string): Type {
  const split = path.lastIndexOf('.')
  const owner = path.slice(0, split)
  const members = context.natives.namespace(owner)
  const member = members?.get(node.property.text)
  if (member === undefined) {
    if (context.natives.namespace(path) !== undefined) {
      context.report('typecheck.undefined', `\`${path}\` is a namespace, not a value`, node)
      return ERROR
    }
    reportMissingMember(context, node, path)
    context.addUse({ kind: 'host', node, path })
    return ANY
  }
  if (isNativeFunction(member)) context.addUse({ kind: 'native', node, native: member, path })
  return nativeValue(context, member, node)
}

/** Reports the first name in the path of a member that no namespace has. */
export function reportMissingMember(context: Context, node: Member, path: string): void {
  const { object, property } = node
  const owner = path.slice(0, path.lastIndexOf('.'))
  const names = namesBelow(context, owner)
  if (names.length === 0) {
    // A first name without members is a namespace of the host.
    if (object.kind === 'Member') reportMissingMember(context, object, owner)
    return
  }
  if (names.includes(property.text) || property.text === '') return
  const near = nearest(context, property.text, () => names)
  context.report('typecheck.unknown_std', `\`${owner}\` has no \`${property.text}\``, property, {
    suggestions: [`it has ${names.map(name => `\`${name}\``).join(', ')}`],
    ...spellingFix(near, property)
  })
}

/** Returns the members of a namespace and the namespaces in it. */
function namesBelow({ natives }: Context, path: string): string[] {
  const inner = natives.namespaces().filter(each => each.startsWith(`${path}.`))
  const names = inner.map(each => each.slice(path.length + 1).replace(/\..*/, ''))
  return [...new Set([...(natives.namespace(path)?.keys() ?? []), ...names])]
}

/** Returns the type of a member of a value. Reports a member that does not exist. */
function memberOf(context: Context, { object, property }: Member, type: Type): Type {
  const wrapping = wrappingOf(type)
  if (wrapping !== null) return wrappedMember(context, object, property, type, wrapping)
  const value = unwrapped(type)
  switch (value.kind) {
    case 'any':
    case 'error':
    case 'never':
      return value
    case 'record': {
      const field = value.fields.get(property.text)
      return field ?? unknownField(context, property, value, [...value.fields.keys()])
    }
    case 'named': {
      const { fields } = value.def
      // A lint reports `id` that means `_id`.
      const isKey = value.def.kind === 'row' && property.text === 'id' && !fields?.has('id')
      const field = fields?.get(isKey ? '_id' : property.text)
      if (field !== undefined) return fieldTypeOf(value, field)
      if (context.declarations.isUnknown(value.def)) return ERROR
      if (isOpaque(context, value.def.name, value.def.kind)) return ANY
      return unknownField(context, property, value, fields === null ? [] : [...fields.keys()])
    }
    case 'tuple': {
      const item = value.items[Number(property.text)]
      return item ?? unknownField(context, property, value, [])
    }
    default:
      return unknownField(context, property, value, [])
  }
}

/** True for types of the host, and documents, whose members are known only when the program runs. */
function isOpaque(context: Context, name: string, kind: string): boolean {
  if (kind === 'opaque' || kind === 'machine') return true
  return name === 'JsonBody' || (name === 'Json' && context.natives.type(name) !== undefined)
}

function unknownField(context: Context, property: Name, type: Type, fields: readonly string[]): Type {
  if (property.text === '') return ERROR
  const near = nearest(context, property.text, () => fields)
  const isLeftOut = type.kind === 'named' && type.def.base?.fields?.has(property.text) === true
  const message = isLeftOut
    ? `\`${property.text}\` of ${show(type)} is not selected`
    : `${show(type)} has no field \`${property.text}\``
  const instead = near === undefined && !isLeftOut ? insteadOfMember(context, property.text, type) : null
  context.report('typecheck.unknown_field', message, property, {
    ...(instead === null ? {} : { suggestions: [instead] }),
    ...spellingFix(isLeftOut ? undefined : near, property)
  })
  return ERROR
}

/** Names that other languages have for the length of a value. */
const LENGTHS: ReadonlySet<string> = new Set(['length', 'size', 'count', 'len'])

/** Returns what to write for a field that other languages have, or that is a method here; null for other names. */
function insteadOfMember(context: Context, name: string, type: Type): string | null {
  if (type.kind !== 'named') return null
  if (LENGTHS.has(name) && BOUND_TYPES.sized.has(type.def.name)) return 'write `len(…)` for the length'
  return context.natives.method(type.def, name) === undefined ? null : `\`${name}\` is a method: write \`.${name}(…)\``
}

/** A type that wraps the value whose field is accessed. */
interface Wrapping {
  /** Code that unwraps the value. */
  readonly unwraps: string
  readonly inner: Type
}

/** Returns null for other types than Option and Result. */
function wrappingOf(type: Type): Wrapping | null {
  const value = resolved(type)
  if (value.kind === 'answer') {
    const within = wrappingOf(value.value)
    return within === null ? null : { ...within, unwraps: `.unwrap()${within.unwraps}` }
  }
  if (value.kind !== 'named' || (value.def !== OPTION && value.def !== RESULT)) return null
  const inner = value.args[0] ?? ANY
  const within = wrappingOf(inner)
  return within === null ? { unwraps: '.unwrap()', inner } : { ...within, unwraps: `.unwrap()${within.unwraps}` }
}

/** Reports access to a field of an Option or a Result. Returns the type of the field in the wrapped value. */
function wrappedMember(context: Context, object: Expression, property: Name, type: Type, wrapping: Wrapping): Type {
  const inner = resolved(wrapping.inner)
  const field = inner.kind === 'named' ? inner.def.fields?.get(property.text) : undefined
  const found = inner.kind === 'record' ? inner.fields.get(property.text) : field && fieldTypeOf(inner, field)
  const at = { start: object.end, end: object.end }
  context.report('typecheck.unknown_field', `${show(type)} has no field \`${property.text}\``, property, {
    suggestions: ['handle both cases with `match`, or unwrap the value with `.unwrap()`'],
    fixes: found === undefined ? [] : [{ label: 'unwrap the value first', span: at, replacement: wrapping.unwraps }]
  })
  return found ?? ERROR
}

export function inferTupleIndex(inference: Inference, node: TupleIndex): Type {
  const { context } = inference
  const object = inference.infer(node.object)
  const type = newVar(node)
  context.when(unwrapped(object), node, known => {
    const value = unwrapped(known)
    if (value.kind === 'tuple') {
      const item = value.items[node.index]
      if (item === undefined) {
        const message = `a tuple of ${value.items.length} has no item ${node.index}`
        context.report('typecheck.unknown_field', message, node)
      }
      context.found(type, item ?? ERROR, node)
    } else {
      if (value.kind !== 'any' && value.kind !== 'error' && value.kind !== 'never') {
        context.report('typecheck.unknown_field', `${show(value)} has no item ${node.index}`, node)
      }
      context.found(type, value.kind === 'any' ? ANY : ERROR, node)
    }
  })
  return resolved(type)
}

/** Finds the type of `xs[i]`, `map["key"]` and `record["key"]`. */
export function inferIndex(inference: Inference, node: IndexAccess): Type {
  const { context } = inference
  const object = inference.infer(node.object)
  const index = inference.infer(node.index)
  const type = newVar(node)
  context.when(unwrapped(object), node, known => {
    context.found(type, elementOf(context, node, asList(unwrapped(known)), index), node)
  })
  return resolved(type)
}

function elementOf(context: Context, node: IndexAccess, value: Type, index: Type): Type {
  const { index: at } = node
  const key = bare(at)
  if (value.kind === 'any' || value.kind === 'error' || value.kind === 'never') return value
  if (value.kind === 'record' && key.kind === 'String') {
    const field = value.fields.get(key.value)
    if (field !== undefined) return field
    const message = `${show(value)} has no field \`${key.value}\``
    context.report('typecheck.unknown_field', message, key)
    return ERROR
  }
  if (value.kind === 'tuple' && key.kind === 'Int') {
    const item = value.items[Number(key.digits)]
    if (item !== undefined) return item
  }
  if (value.kind === 'named') {
    const { def, args } = value
    if (def === LIST) return keyed(context, at, index, INT, 'an index of a list is an `int`', args[0])
    if (def === MAP) return keyed(context, at, index, args[0] ?? STR, 'the key has another type', args[1])
    if (value === STR) return keyed(context, at, index, INT, 'an index of a string is an `int`', STR)
    if (def.name === 'Json' || def.name === 'JsonBody') return ANY
    if (context.declarations.isUnknown(def)) return ERROR
    if (def.kind === 'opaque') return ANY
    if (def.fields !== null && key.kind === 'String') {
      const field = def.fields.get(key.value)
      if (field !== undefined) return fieldTypeOf(value, field)
      context.report('typecheck.unknown_field', `${show(value)} has no field \`${key.value}\``, key)
      return ERROR
    }
  }
  context.report('typecheck.operands', `${show(value)} has no elements that an index can name`, node)
  return ERROR
}

function keyed(
  context: Context,
  at: Expression,
  found: Type,
  expected: Type,
  message: string,
  element: Type | undefined
): Type {
  const key = resolved(found)
  if (!(key.kind === 'named' && key.def === ID))
    coerce(context, at, found, expected, { code: 'typecheck.operands', message })
  return element ?? ANY
}
