import type { Hir } from '@svc/contracts'
import type { Doc } from '../doc/doc.ts'
import { call, code, Level, operand, type TypeScriptCode } from './code.ts'
import { bindingOf, constant, type Emitter, localOf } from './emitter.ts'
import { literal, propertyKey } from './names.ts'
import type { Binding } from './scope.ts'
import { isNamed, itemOf } from './value-types.ts'

export type PathPart = { readonly field: string } | { readonly index: TypeScriptCode; readonly type: Hir.Type }

export function localCode(e: Emitter, binding: Binding): TypeScriptCode {
  const newest = binding.setter === null ? undefined : e.frame.newest.get(binding.local)
  if (newest !== undefined) return code(newest)
  return binding.isVariable ? { ...code(binding.name), known: e.known.get(binding.name) } : constant(e, binding.name)
}

export function fieldCode(object: TypeScriptCode, name: string): TypeScriptCode {
  const whole = operand(object, Level.postfix)
  return code(/^[A-Za-z_$][\w$]*$/.test(name) ? [whole, '.', name] : [whole, '[', literal(name), ']'])
}

/** Reads an element of a list, a character of a string, or an entry of a record. */
export function elementCode(
  e: Emitter,
  object: TypeScriptCode,
  type: Hir.Type,
  index: TypeScriptCode,
  indexType: Hir.Type
): TypeScriptCode {
  if (isNamed(type, 'str')) return call(e.file.helper('item_at'), ['[...', object.doc, ']'], index.doc)
  return code([e.file.helper(isKey(type, indexType) ? 'entry_of' : 'item_at'), '(', object.doc, ', ', index.doc, ')'])
}

/** Reads a part of a variable. */
export function partCode(e: Emitter, local: Hir.LocalId, path: readonly PathPart[]): TypeScriptCode {
  const part = path.at(-1)
  if (part === undefined) return localCode(e, bindingOf(e, local))
  const outer = path.slice(0, -1)
  const object = partCode(e, local, outer)
  if ('index' in part) return elementCode(e, object, partType(e, local, outer), part.index, part.type)
  return fieldCode(object, part.field)
}

/** Assigns a part of a variable: a changed copy replaces the whole. */
export function storePart(e: Emitter, local: Hir.LocalId, path: readonly PathPart[], value: TypeScriptCode): void {
  const part = path.at(-1)
  if (part === undefined) {
    storeLocal(e, local, value)
    return
  }
  const outer = path.slice(0, -1)
  const object = partCode(e, local, outer)
  const type = partType(e, local, outer)
  storePart(
    e,
    local,
    outer,
    code('index' in part ? withEntry(e, object, type, part, value) : withField(object, part.field, value))
  )
}

/** Returns the type of a part of a variable. */
function partType(e: Emitter, local: Hir.LocalId, path: readonly PathPart[]): Hir.Type {
  return path.reduce<Hir.Type>((type, part) => {
    return 'index' in part ? itemOf(type) : e.file.program.fieldType(type, part.field)
  }, localOf(e, local).type)
}

/** True if an index is the key of an entry. */
function isKey(type: Hir.Type, indexType: Hir.Type): boolean {
  return isNamed(type, 'Map') || isNamed(indexType, 'str')
}

function withEntry(
  e: Emitter,
  object: TypeScriptCode,
  type: Hir.Type,
  { index, type: indexType }: Extract<PathPart, { index: unknown }>,
  value: TypeScriptCode
): Doc {
  if (isKey(type, indexType)) return ['{ ...', object.doc, ', [', index.doc, ']: ', value.doc, ' }']
  return [e.file.helper('with_item'), '(', object.doc, ', ', index.doc, ', ', value.doc, ')']
}

function withField(object: TypeScriptCode, field: string, value: TypeScriptCode): Doc {
  const key = propertyKey(field)
  return ['{ ...', object.doc, ', ', value.doc === key ? key : [`${key}: `, value.doc], ' }']
}

function storeLocal(e: Emitter, local: Hir.LocalId, value: TypeScriptCode): void {
  const { name, setter } = bindingOf(e, local)
  if (setter === null) {
    e.out.push([`${name} = `, value.doc])
    return
  }
  const newest = e.frame.newest.get(local)
  if (newest !== undefined) e.out.push([`${newest} = `, value.doc])
  e.out.push([`${setter}(`, newest ?? value.doc, ')'])
}
