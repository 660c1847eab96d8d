import {
  type HirParam,
  type HirType,
  type HttpEndpoint,
  type HttpEndpointKind,
  httpEndpointsOf,
  type Program
} from '@svc/contracts'

/**
 * A function, route or job of a program that can be called from outside. Its index in {@link endpointsOf} identifies
 * it in messages to threads.
 */
export interface Endpoint {
  readonly kind: EndpointKind
  /** Name of the function, or method and path of a route. */
  readonly name: string
  readonly params: readonly HirParam[]
  readonly returns: HirType | null
  /** HTTP route; null if there is none. */
  readonly route: HttpEndpoint['route'] | null
}

/**
 * Kind of an endpoint. `due` continues workflow runs and delivers messages, through `DurableRunner`; `users`
 * creates and reads users, through `UsersRunner`.
 */
export type EndpointKind = HttpEndpointKind | 'tool' | 'resource' | 'scheduled' | 'due' | 'users'

/** True if a call is one transaction, which leaves nothing behind if it fails. */
export function isTransaction(kind: EndpointKind): boolean {
  return kind === 'mutation' || kind === 'users'
}

export function endpointsOf(program: Pick<Program, 'module' | 'facts' | 'users'>): Endpoint[] {
  const { module, users } = program
  return [
    ...httpEndpointsOf(module),
    ...module.mcp_tools.map(({ func }) => local('tool', func)),
    ...module.mcp_resources.map(({ func }) => local('resource', func)),
    ...module.functions
      .filter(({ schedule_interval }) => schedule_interval !== undefined)
      .map(fn => local('scheduled', fn)),
    ...(isDurable(program) ? [local('due', { name: 'runs and messages', params: [], return_type: null })] : []),
    ...(users === null ? [] : [local('users', { name: 'users', params: [], return_type: null })])
  ]
}

/** True if a program has workflows, actors, agents or deferred calls. */
export function isDurable({ module, facts }: Pick<Program, 'module' | 'facts'>): boolean {
  const { workflows, actors, agents } = module
  return workflows.length + actors.length + agents.length > 0 || facts.defersCalls
}

function local(
  kind: EndpointKind,
  fn: { readonly name: string; readonly params: readonly HirParam[]; readonly return_type: HirType | null }
): Endpoint {
  return { kind, name: fn.name, params: fn.params, returns: fn.return_type, route: null }
}
