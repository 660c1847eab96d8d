import type { Hir } from '@svc/contracts'
import type { Doc } from '../doc/doc.ts'
import { call, type TypeScriptCode } from '../typescript/code.ts'
import type { Emitter } from '../typescript/emitter.ts'
import { expression } from '../typescript/expressions.ts'
import { literal } from '../typescript/names.ts'
import { isNamed } from '../typescript/value-types.ts'
import type { TextPart, WebExpression } from './tree.ts'

/**
 * Returns the value of a placeholder's path; null if its first name is unknown, so that the placeholder is plain text.
 */
export type Resolve = (path: readonly string[]) => WebExpression | null

/** Splits a view string into text and the values of `{name}` and `{name.field}`. */
export function textParts(content: string, resolve: Resolve): TextPart[] {
  const parts: TextPart[] = []
  let text = ''
  let last = 0
  for (const match of content.matchAll(/\{([A-Za-z_]\w*(?:\.\w+)*)\}/g)) {
    const value = resolve((match[1] as string).split('.'))
    if (value === null) continue
    text += content.slice(last, match.index)
    if (text !== '') parts.push({ text })
    text = ''
    parts.push(value)
    last = match.index + match[0].length
  }
  text += content.slice(last)
  if (text !== '') parts.push({ text })
  return parts
}

/** Prints a view string as an expression. */
export function textValue(parts: readonly TextPart[]): Doc {
  if (parts.every(part => 'text' in part)) return literal(parts.map(part => ('text' in part ? part.text : '')).join(''))
  return ['`', parts.map((part): Doc => ('text' in part ? templateText(part.text) : ['${', part.code, '}'])), '`']
}

function templateText(text: string): string {
  return literal(text).slice(1, -1).replaceAll("\\'", "'").replaceAll('`', '\\`').replaceAll('${', '\\${')
}

/** Returns the values of the placeholders of a string in the current scope. Their place is that of the string. */
export function placeholders(e: Emitter, { start, end }: Hir.Str): Resolve {
  return ([name = '', ...fields]) => {
    const root = namedValue(e, name, { start, end })
    if (root === null) return null
    const node = fields.reduce((object, field) => fieldOf(e, object, field), root)
    return { node, code: shownCode(e, expression(e, node), node.type) }
  }
}

function namedValue(e: Emitter, name: string, place: Hir.Span): Hir.Expr | null {
  const local = e.scope.lookup(name)
  if (local !== undefined) return { kind: 'Local', local: local.local, type: local.type, ...place }
  const entry = e.file.program.names.get(name)
  if (entry?.kind !== 'constant') return null
  return { kind: 'Constant', name, type: e.file.program.resultOf(entry.declaration), ...place }
}

function fieldOf(e: Emitter, object: Hir.Expr, name: string): Hir.Field {
  const fields = e.file.program.fieldsOf(object.type)
  // The key of a row is `_id`; programs also write `id` if the table has no such column.
  const isKey = name === 'id' && fields?.has('id') === false && fields.has('_id')
  const field = isKey ? '_id' : name
  const { start, end } = object
  return { kind: 'Field', object, name: field, type: e.file.program.fieldType(object.type, field), start, end }
}

/** Converts a value to a child or a part of a string. React shows neither booleans nor records. */
export function shownCode(e: Emitter, value: TypeScriptCode, type: Hir.Type): Doc {
  if (isNamed(type, 'bool')) return call('String', value.doc).doc
  return isShowable(e, type) ? value.doc : call(e.file.helper('text'), value.doc).doc
}

function isShowable(e: Emitter, type: Hir.Type): boolean {
  switch (type.kind) {
    case 'tuple':
    case 'fn':
    case 'record':
      return false
    case 'named':
      return isShowableName(e, type)
    default:
      return true
  }
}

function isShowableName(e: Emitter, type: Hir.Type & { readonly kind: 'named' }): boolean {
  const { program } = e.file
  const [item] = type.args
  if (isNamed(type, 'List', 'Option')) {
    if (item === undefined || item.kind === 'any' || isNamed(item, 'Element')) return true
    return isNamed(type, 'Option') && !isNamed(item, 'bool') && isShowable(e, item)
  }
  if (isNamed(type, 'Map', 'Result', 'Set', 'Stream')) return false
  const def = program.typed.defOf(type.name)
  return def === undefined || (def.declaration === null && def.fields === null)
}
