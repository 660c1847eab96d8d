import {
  type HirModule,
  type HirParam,
  type HirType,
  type HttpEndpoint,
  type HttpEndpointKind,
  httpEndpointsOf
} from '@svc/contracts'

/**
 * A function, route or job of a program that can be called from outside. Threads identify it by its index in the list
 * of {@link endpointsOf}.
 */
export interface Endpoint {
  readonly kind: EndpointKind
  /** Name of the function, or method and path of a route. */
  readonly name: string
  readonly params: readonly HirParam[]
  readonly returns: HirType | null
  /** null for a declaration without a route. */
  readonly route: HttpEndpoint['route'] | null
}

/** `due` handles runs and mailboxes, through `DurableRunner`. */
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

/** True if a program has background work. */
export function isDurable({ workflows, actors, agents }: HirModule): boolean {
  return workflows.length + actors.length + agents.length > 0
}

function local(
  kind: EndpointKind,
  fn: { readonly name: string; readonly params: readonly HirParam[]; readonly return_type: HirType | null }
): Endpoint {
  return { kind, name: fn.name, params: fn.params, returns: fn.return_type, route: null }
}
