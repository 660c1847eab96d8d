import { pathParameters } from '@svc/contracts'
import type { RouteEntry } from '../../syntax/ast.ts'
import { RESULT } from '../builtin-types.ts'
import type { Context } from '../context.ts'
import { conversionTo, unwrapped } from '../conversions.ts'
import { show } from '../show.ts'
import { ANY, resolved, type Type } from '../type.ts'

/** Reports a page whose loader is not a query, or has a result that none of the properties of its component accepts. */
export function checkRoute(context: Context, entry: RouteEntry, base: string): void {
  const path = `${base}/${entry.path.value}`
  for (const child of entry.children) checkRoute(context, child, path)
  const loader = entry.options.find(({ key }) => key.text === 'loader')?.value
  if (loader === undefined) return
  const query = context.names.get(loader.text)?.declaration
  if (query?.kind !== 'Function' || query.role !== 'query') {
    const suggestions = ['declare it as `@query fn`']
    context.report('web.route.unknown_loader', `the loader \`${loader.text}\` is not a query`, loader, { suggestions })
    return
  }
  const component = context.names.get(entry.component.text)?.declaration
  if (component === undefined) return
  const props = context.declarations.properties(component)
  const inPath = new Set(pathParameters(path))
  const open = props?.filter(({ name }) => !inPath.has(name)) ?? []
  if (open.length === 0) return
  const value = loadedType(context.declarations.signature(query).result)
  if (open.some(({ type }) => conversionTo(value, resolved(type), null, true) !== false)) return
  const message = `no property of \`${entry.component.text}\` accepts the result of the loader \`${loader.text}\``
  const names = open.map(({ name, type }) => `\`${name}: ${show(type)}\``).join(', ')
  context.report('typecheck.prop', message, loader, {
    foundType: show(value),
    suggestions: [`its properties are ${names}`]
  })
}

/** The value that a loader passes on: that of a Result, whose error is shown by another page. */
function loadedType(type: Type): Type {
  const value = unwrapped(type)
  return value.kind === 'named' && value.def === RESULT ? resolved(value.args[0] ?? ANY) : value
}
