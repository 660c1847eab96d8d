import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Declaration, Module, RouteEntry } from '../syntax/ast.ts'
import type { Span } from '../syntax/node.ts'

interface Endpoint {
  /** Method and path. Names of path parameters are normalised. */
  readonly key: string
  readonly label: string
  readonly span: Span
}

const RPC = { query: ['GET', '/api/query/'], mutation: ['POST', '/api/mutation/'], server: ['POST', '/api/'] } as const

/** Reports duplicate routes and empty paths. */
export function checkRoutes(module: Module): Diagnostic[] {
  const first = new Map<string, Endpoint>()
  const found: Diagnostic[] = []
  for (const endpoint of module.items.flatMap(endpointOf)) {
    const other = first.get(endpoint.key)
    if (other === undefined) first.set(endpoint.key, endpoint)
    else {
      const message = `\`${endpoint.label}\` is declared twice`
      const related = [{ span: other.span, message: `\`${other.label}\` is declared here first` }]
      found.push(diagnostic('typecheck.route.duplicate', message, endpoint.span, { related }))
    }
  }
  const paths = module.items.flatMap(item => {
    if (item.kind === 'HttpRoute') return [item.path]
    return item.kind === 'Routes'
      ? item.entries.flatMap(entry => (entry.kind === 'RouteEntry' ? pathsOf(entry) : []))
      : []
  })
  const empty = paths.filter(({ value }) => value === '')
  return [...found, ...empty.map(path => diagnostic('typecheck.hir.empty_path', 'a route needs a path', path))]
}

function endpointOf(item: Declaration): Endpoint[] {
  if (item.kind === 'HttpRoute') {
    const method = item.method.toUpperCase()
    const label = `${method} ${item.path.value}`
    return [{ key: label.replace(/\/(:\w+|\{\w+\})/g, '/:'), label, span: item.path }]
  }
  if (item.kind !== 'Function') return []
  if (item.role !== 'query' && item.role !== 'mutation' && item.role !== 'server') return []
  const [method, base] = RPC[item.role]
  const label = `${method} ${base}${item.name.text}`
  return [{ key: label, label, span: item.name }]
}

function pathsOf({ path, children }: RouteEntry): RouteEntry['path'][] {
  return [path, ...children.flatMap(pathsOf)]
}
