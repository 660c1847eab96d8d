import type { HirEndpoint, HirModule, HirParam, HirType } from '@svc/contracts'
import { pathParameters, routeParameters } from '../interpreter/compile/route-parameters.ts'

/**
 * Something of a program that can be called from outside. Their places in the list that {@link endpointsOf} gives are what
 * threads know them by.
 */
export interface Endpoint {
  readonly kind: EndpointKind
  /** Of the function; of a route its method and path. */
  readonly name: string
  readonly params: readonly HirParam[]
  readonly returns: HirType | null
  /** null for what has no route of its own. */
  readonly route: EndpointRoute | null
}

/** `due` is what is done of runs and mailboxes, by `DurableRunner`. */
export type EndpointKind = 'query' | 'mutation' | 'server' | 'route' | 'tool' | 'resource' | 'scheduled' | 'due'

export interface EndpointRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** As people write it: `/tasks/:id`. */
  readonly path: string
  /** Names of the parts of the path that are parameters. */
  readonly inPath: readonly string[]
}

export function endpointsOf(module: HirModule): Endpoint[] {
  return [
    ...module.query_fns.map(fn => remote('query', 'GET', fn)),
    ...module.mutation_fns.map(fn => remote('mutation', 'POST', fn)),
    ...module.server_fns.map(fn => remote('server', 'POST', fn)),
    ...module.routes.map(route => {
      const path = route.path.replace(/\{(\w+)\}/g, ':$1')
      const method = route.method.toUpperCase() as EndpointRoute['method']
      return {
        kind: 'route' as const,
        name: route.route_contract,
        params: routeParameters(route),
        returns: route.return_type,
        route: { method, path, inPath: pathParameters(route.path) }
      }
    }),
    ...module.mcp_tools.map(({ func }) => local('tool', func)),
    ...module.mcp_resources.map(({ func }) => local('resource', func)),
    ...module.functions
      .filter(({ schedule_interval }) => schedule_interval !== undefined)
      .map(fn => local('scheduled', fn)),
    ...(isDurable(module) ? [local('due', { name: 'runs and messages', params: [], return_type: null })] : [])
  ]
}

/** Whether a program has something that goes on without a caller. */
export function isDurable({ workflows, actors, agents }: HirModule): boolean {
  return workflows.length + actors.length + agents.length > 0
}

function remote(kind: EndpointKind, method: 'GET' | 'POST', fn: HirEndpoint): Endpoint {
  const { name, params, return_type: returns, route_path: path } = fn
  return { kind, name, params, returns, route: { method, path, inPath: [] } }
}

function local(
  kind: EndpointKind,
  fn: { readonly name: string; readonly params: readonly HirParam[]; readonly return_type: HirType | null }
): Endpoint {
  return { kind, name: fn.name, params: fn.params, returns: fn.return_type, route: null }
}
