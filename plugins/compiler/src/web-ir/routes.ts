import type { Hir, HirEndpoint, HirModule, HirParam, HirRoute, HirType } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import type { RouteNode, RouteTreeEntry } from './web-ir.ts'

/** Returns the pages, then the server routes, then the functions. */
export function routeNodes(routes: readonly Hir.Routes[], hir: HirModule): RouteNode[] {
  const trees = routes.map(({ pages }): RouteNode => {
    return { RouteTree: { routes: pages.map((page, index) => treeEntry(page, `route_${index}`)), span: null } }
  })
  return [
    ...trees,
    ...hir.routes.map(loaderContract),
    ...hir.server_fns.map(serverContract),
    ...hir.query_fns.map(serverContract),
    ...hir.mutation_fns.map(mutationContract)
  ]
}

function treeEntry({ path, component, loader, pending, children }: Hir.PageRoute, id: string): RouteTreeEntry {
  return {
    id,
    pattern: path,
    meta: defined({ component: component.name, loader: loader?.name, pending: pending?.name }),
    ...(children.length === 0 ? {} : { children: children.map((child, index) => treeEntry(child, `${id}_c${index}`)) })
  }
}

function loaderContract({ method, path, return_type, route_contract }: HirRoute, index: number): RouteNode {
  const slug = path.replace(/[^A-Za-z0-9]/g, '_')
  // JSON keys are in alphabetical order.
  const contract = JSON.stringify({
    kind: 'http',
    method: method.toUpperCase(),
    path,
    return_type: webType(return_type),
    route_contract
  })
  return { LoaderContract: { route_id: `http_${index}_${path === '/' ? 'root' : slug}`, contract, span: null } }
}

function serverContract({ name, params, return_type, route_path }: HirEndpoint): RouteNode {
  const signature = `(${params.map(parameter).join(', ')}) -> ${webType(return_type)}`
  return { ServerFnContract: { name, export_path: route_path, signature, span: null } }
}

function mutationContract({ name, params: [first] }: HirEndpoint): RouteNode {
  return { MutationContract: { name, payload_type: first === undefined ? 'void' : parameter(first), span: null } }
}

function parameter({ name, type_ann }: HirParam): string {
  return `${name}: ${webType(type_ann)}`
}

const TYPES: Readonly<Record<string, string>> = {
  int: 'number',
  float: 'number',
  str: 'string',
  dec: 'string',
  bool: 'boolean'
}

/** Formats a type for contracts: numbers, strings and booleans as in TypeScript, other names unchanged. */
export function webType(type: HirType | null): string {
  if (type === 'Decimal') return 'string'
  if (type === null || typeof type === 'string') return 'any'
  if ('Named' in type) return TYPES[type.Named] ?? type.Named
  if ('Generic' in type) return `${type.Generic[0]}<${type.Generic[1].map(webType).join(', ')}>`
  return 'any'
}
