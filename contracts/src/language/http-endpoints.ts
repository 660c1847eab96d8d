import type { HirEndpoint, HirModule, HirParam, HirRoute, HirType } from './hir.ts'
import { type DeclaredTypes, TypeNames } from './type-names.ts'

/** A function or route that is called over HTTP, with its calling convention. */
export interface HttpEndpoint {
  readonly kind: HttpEndpointKind
  /** Name of the function; for a route, its method and path. */
  readonly name: string
  /** Parameters; for a route including undeclared path parameters and `request`. */
  readonly params: readonly HirParam[]
  readonly returns: HirType | null
  readonly route: HttpEndpointRoute
}

export type HttpEndpointKind = 'query' | 'mutation' | 'server' | 'route'

export interface HttpEndpointRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Pattern in the router's syntax: `/tasks/:id`. */
  readonly path: string
  /** Names of the path parameters. */
  readonly inPath: readonly string[]
}

/** Returns queries, mutations and server functions, then declared routes, each in source order. */
export function httpEndpointsOf(
  module: Pick<HirModule, 'query_fns' | 'mutation_fns' | 'server_fns' | 'routes'>
): HttpEndpoint[] {
  return [
    ...module.query_fns.map(fn => remote('query', 'GET', fn)),
    ...module.mutation_fns.map(fn => remote('mutation', 'POST', fn)),
    ...module.server_fns.map(fn => remote('server', 'POST', fn)),
    ...module.routes.map(route => ({
      kind: 'route' as const,
      name: route.route_contract,
      params: routeParameters(route),
      returns: route.return_type,
      route: {
        method: route.method.toUpperCase() as HttpEndpointRoute['method'],
        path: route.path.replace(/\{(\w+)\}/g, ':$1'),
        inPath: pathParameters(route.path)
      }
    }))
  ]
}

function remote(kind: HttpEndpointKind, method: 'GET' | 'POST', fn: HirEndpoint): HttpEndpoint {
  const { name, params, return_type: returns, route_path: path } = fn
  return { kind, name, params, returns, route: { method, path, inPath: [] } }
}

const IN_PATH = /:([a-z_]\w*)|\{([a-z_]\w*)\}/gi

/** Returns the names of path parameters: `id` for `/tasks/:id` and `/tasks/{id}`. */
export function pathParameters(path: string): string[] {
  return [...path.matchAll(IN_PATH)].map(([, colon, braces]) => colon ?? braces ?? '')
}

/** Returns the parameters that a route's body can use: declared ones, undeclared path parameters, and `request`. */
export function routeParameters({ path, params = [], span }: HirRoute): HirParam[] {
  const undeclared = pathParameters(path).filter(name => !params.some(each => each.name === name))
  const implicit = [...undeclared, 'request'].filter(name => !params.some(each => each.name === name))
  return [...params, ...implicit.map(name => ({ name, type_ann: { Named: 'str' }, hasDefault: false, span }))]
}

/** Where a request carries an endpoint's arguments: path, query and body. */
export interface HttpInput {
  /** Strings that are parsed by the parameters' types. */
  readonly path: readonly HirParam[]
  /** JSON values for a query function; plain strings for a route. */
  readonly query: readonly HirParam[]
  readonly body: HttpBody
}

/**
 * Form of the request body. `none`: no body; `fields`: an object with the parameters by name; `whole`: the value of the
 * only parameter; `any`: a body that the program parses.
 */
export type HttpBody =
  | { readonly kind: 'none' | 'any' }
  | { readonly kind: 'fields'; readonly params: readonly HirParam[] }
  | { readonly kind: 'whole'; readonly param: HirParam }

export function httpInputOf({ kind, params, route }: HttpEndpoint): HttpInput {
  const { method, inPath } = route
  const path = inPath.flatMap(name => params.find(param => param.name === name) ?? [])
  const rest =
    kind === 'route' ? params.filter(({ name }) => name !== 'request' && !inPath.includes(name)) : [...params]
  if (method === 'GET' || method === 'DELETE') return { path, query: rest, body: { kind: 'none' } }
  return { path, query: [], body: bodyOf(kind, rest) }
}

function bodyOf(kind: HttpEndpointKind, params: readonly HirParam[]): HttpBody {
  if (kind !== 'route') return { kind: 'fields', params }
  const [only] = params
  if (only === undefined) return { kind: 'any' }
  return params.length === 1 && !isPlainType(only.type_ann)
    ? { kind: 'whole', param: only }
    : { kind: 'fields', params }
}

const PLAIN: ReadonlySet<string> = new Set(['int', 'float', 'str', 'char', 'bool', 'dec', 'Id'])

/** Returns whether values of a type appear unquoted in a URL: strings, numbers and booleans. */
export function isPlainType(type: HirType | null): boolean {
  if (type === 'Decimal') return true
  if (type === null || typeof type === 'string') return false
  if ('Named' in type) return PLAIN.has(type.Named)
  if (!('Generic' in type)) return false
  const [name, [item = null]] = type.Generic
  return name === 'Id' || (name === 'Option' && isPlainType(item))
}

/** Returns whether a caller must pass the argument. */
export function isRequiredParam(param: HirParam): boolean {
  return !param.hasDefault && !isOptionalType(param.type_ann)
}

/** Returns whether a member of that type may be omitted. */
export function isOptionalType(type: HirType | null): boolean {
  if (type === 'Unit') return true
  return typeof type === 'object' && type !== null && 'Generic' in type && type.Generic[0] === 'Option'
}

/**
 * Returns the type of the response body. For a `Result`, also one that has another name, that is its value type, since
 * an error becomes a status.
 */
export function answerType(type: HirType | null, module: DeclaredTypes): HirType | null {
  const named = type === null ? null : new TypeNames(module).unaliased(type)
  const isResult = typeof named === 'object' && named !== null && 'Generic' in named && named.Generic[0] === 'Result'
  return isResult ? (named.Generic[1][0] ?? null) : type
}

/**
 * Returns whether a route answers with a `Response`: a status, headers and a body that is not necessarily JSON. A
 * declared type of that name is an ordinary one.
 */
export function isResponseRoute(
  { kind, returns }: Pick<HttpEndpoint, 'kind' | 'returns'>,
  { types, tables }: DeclaredTypes
): boolean {
  const type = answerType(returns, { types, tables })
  if (kind !== 'route' || type === null || typeof type === 'string' || !('Named' in type)) return false
  return type.Named === 'Response' && ![...types, ...tables].some(({ name }) => name === 'Response')
}
