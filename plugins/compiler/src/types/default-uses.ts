import type { Declaration, Field } from '../syntax/ast.ts'
import type { Span } from '../syntax/node.ts'
import type { Context } from './context.ts'
import { type FieldType, partsOf, resolved, type Type, type TypeDef } from './type.ts'

/** Notes that the code at a place computes the defaults of some fields. */
export function addDefaultUses(context: Context, at: Span, def: TypeDef, fields: Iterable<FieldType>): void {
  const { declaration, name: owner } = def
  if (declaration === null) return
  for (const { field, name } of fields) {
    if (field?.kind !== 'Field' || field.value === null) continue
    context.addUse({ kind: 'default', node: at, declaration, field, name: `${owner}.${name}` })
  }
}

/**
 * Notes that the code at a place may compute the defaults of all structs in a type: it makes a value of the type from
 * one that may lack members.
 */
export function addDefaultUsesIn(context: Context, at: Span, type: Type): void {
  if (!context.hasDefaults) return
  const seen = new Set<Type | TypeDef>()
  const open: Type[] = [type]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const part = resolved(next)
    if (seen.has(part)) continue
    seen.add(part)
    if (part.kind !== 'fn') open.push(...partsOf(part))
    if (part.kind !== 'named' || seen.has(part.def)) continue
    const { def } = part
    seen.add(def)
    if (def.kind === 'struct') addDefaultUses(context, at, def, def.fields?.values() ?? [])
    const fields = [...(def.fields?.values() ?? []), ...(def.variants ?? []).flatMap(each => each.fields)]
    open.push(...fields.map(each => each.type))
  }
}

/** True for a type whose literals may omit a field that has a default. */
export function hasDefault(item: Declaration): boolean {
  const isComputed = ({ value }: Field): boolean => value !== null
  return item.kind === 'Type' && item.definition.form === 'struct' && item.definition.fields.some(isComputed)
}
