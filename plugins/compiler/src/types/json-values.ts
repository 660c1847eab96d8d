import { diagnostic } from '../diagnostics/diagnostic.ts'
import type { Declaration, Param } from '../syntax/ast.ts'
import type { Span } from '../syntax/node.ts'
import { show } from './show.ts'
import { partsOf, resolved, type Type, type TypeDef } from './type.ts'
import type { TypedPass } from './typed-module.ts'

/** Roles of functions whose arguments and results are JSON. */
const EXPOSED: ReadonlySet<string> = new Set(['query', 'mutation', 'server', 'mcp.tool', 'mcp.resource'])

/** Types of the host whose values JSON cannot represent. */
const HOST_VALUES: ReadonlySet<string> = new Set(['Regex', 'Match'])

/** Reports parameters and results that are sent or stored as JSON, but have functions, actors or the like in them. */
export const checkJsonValues: TypedPass = ({ module, paramTypes, resultOf, fieldType }, report) => {
  const fit = new Set<TypeDef>()
  for (const item of module.items) {
    const header = headerOf(item)
    if (header === null) continue
    const types = paramTypes(item)
    for (const [index, { name }] of header.params.entries()) {
      check(types[index], name, `the parameter \`${name.text}\``)
    }
    check(resultOf(item), header.result, 'the result')
  }

  function check(type: Type | undefined, at: Span, label: string): void {
    const part = type === undefined ? null : unfit(type, fieldType, fit)
    if (part === null) return
    const message = `${label} is JSON, which cannot have a value of type ${show(part)}`
    report(diagnostic('typecheck.not_json', message, at, { suggestions: ['pass the data that it is made from'] }))
  }
}

function headerOf(item: Declaration): { readonly params: readonly Param[]; readonly result: Span } | null {
  switch (item.kind) {
    case 'Function':
      return EXPOSED.has(item.role) ? { params: item.params, result: item.result ?? item.name } : null
    case 'Workflow':
    case 'Activity':
      return { params: item.params, result: item.result ?? item.name }
    case 'HttpRoute':
      return { params: item.params ?? [], result: item.result ?? item.path }
    default:
      return null
  }
}

/**
 * Returns the first part of a type whose values JSON cannot represent; null if there is none. `fit`: definitions of earlier
 * types, whose fields need no further look.
 */
function unfit(type: Type, fieldType: Parameters<TypedPass>[0]['fieldType'], fit: Set<TypeDef>): Type | null {
  const [seen, defs] = [new Set<Type>(), new Set<TypeDef>()]
  const open: Type[] = [type]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const part = resolved(next)
    if (seen.has(part)) continue
    seen.add(part)
    if (part.kind === 'fn') return part
    open.push(...partsOf(part))
    if (part.kind !== 'named') continue
    const { def } = part
    if (def.kind === 'actor' || (def.declaration === null && HOST_VALUES.has(def.name))) return part
    // Parts of the fields of a generic type are among its arguments, or the same for all of them.
    if (defs.has(def) || fit.has(def)) continue
    defs.add(def)
    const fields = [...(def.fields?.values() ?? []), ...(def.variants ?? []).flatMap(each => each.fields)]
    open.push(...fields.map(field => fieldType(part, field)))
  }
  for (const each of defs) fit.add(each)
  return null
}
