import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Module, Type } from '../syntax/ast.ts'

/** Reports functions other than routes that answer their callers with a `Response`, whose parts only HTTP has. */
export function checkResponses(module: Module): Diagnostic[] {
  const isDeclared = module.items.some(
    item => (item.kind === 'Type' || item.kind === 'Table') && item.name.text === 'Response'
  )
  if (isDeclared) return []
  return module.items.flatMap(item => {
    if (item.kind === 'Function') return item.role === 'plain' ? [] : unfit(item.result)
    if (item.kind === 'Actor' || item.kind === 'Agent')
      return item.members.flatMap(member => (member.kind === 'Handler' ? unfit(member.result) : []))
    return item.kind === 'Workflow' || item.kind === 'Activity' ? unfit(item.result) : []
  })
}

function unfit(result: Type | null): Diagnostic[] {
  if (result === null || !hasResponse(result)) return []
  return [
    diagnostic('response.target', 'only a route can answer with a `Response`', result, {
      suggestions: ['declare a route such as `http get "/path" to Response { … }`']
    })
  ]
}

/** True for `Response`, and for it in another type such as a `Result`. */
function hasResponse(type: Type): boolean {
  if (type.kind === 'OptionalType') return hasResponse(type.inner)
  if (type.kind !== 'NamedType') return false
  return (type.path.length === 1 && type.path[0]?.text === 'Response') || type.args.some(hasResponse)
}
