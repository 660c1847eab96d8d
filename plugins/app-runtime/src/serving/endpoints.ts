import {
  type HirModule,
  type HirParam,
  type HirType,
  type HttpEndpoint,
  type HttpEndpointKind,
  httpEndpointsOf
} from '@svc/contracts'

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
  /** null for a declaration without a route. */
  readonly route: HttpEndpoint['route'] | null
}

/** `due` is what is done of runs and mailboxes, by `DurableRunner`. */
export type EndpointKind = HttpEndpointKind | 'tool' | 'resource' | 'scheduled' | 'due'

export function endpointsOf(module: HirModule): Endpoint[] {
  return [
    ...httpEndpointsOf(module),
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

function local(
  kind: EndpointKind,
  fn: { readonly name: string; readonly params: readonly HirParam[]; readonly return_type: HirType | null }
): Endpoint {
  return { kind, name: fn.name, params: fn.params, returns: fn.return_type, route: null }
}
