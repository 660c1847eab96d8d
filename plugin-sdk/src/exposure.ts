import type {
  CliExposure,
  Exposure,
  HttpExposure,
  McpExposure,
  OperationDescriptor,
  RpcAlias,
  RpcExposure
} from './operation.ts'

/** Part of a descriptor that {@link ExposureDescription} depends on. */
export type ExposedDescriptor = Pick<OperationDescriptor, 'id' | 'expose'>

/** Kind of exposure, for a surface. Call it to expose an operation: `expose: { also: [telnet({ word: 'add' })] }`. */
export interface ExposureKind<E> {
  (value: E): Exposed<E>
  /** Name of the surface's plugin, and key of the value in a descriptor's `expose`. */
  readonly surface: string
  /** Returns the names that the operation claims, such as `method notes.add`. Each must be unique in a generation. */
  claims(id: string, exposure: E): readonly string[]
  /** Describes where a user finds the operation, for `svc call ID --help`. */
  shown(id: string, exposure: E): string
  /** Returns the value of the exposure; undefined if the operation is not exposed on this surface. */
  of(descriptor: Pick<OperationDescriptor, 'expose'>): E | undefined
}

export interface Exposed<E = unknown> {
  readonly kind: ExposureKind<E>
  /** Plain JSON, which becomes part of the manifest. */
  readonly value: E
}

/**
 * Declares a kind of exposure for a surface.
 *
 * `claims` and `shown` run once, when the operation is declared. Their results are stored in the manifest, so conflicts
 * are found without loading the surface.
 */
export function exposureKind<E>(surface: string, describe: Pick<ExposureKind<E>, 'claims' | 'shown'>): ExposureKind<E> {
  const kind: ExposureKind<E> = Object.assign((value: E): Exposed<E> => ({ kind, value }), {
    surface,
    claims: describe.claims,
    shown: describe.shown,
    of: ({ expose }: Pick<OperationDescriptor, 'expose'>) => (expose as Readonly<Record<string, unknown>>)[surface] as E
  })
  return kind
}

export const httpExposure = exposureKind<HttpExposure>('http', {
  claims: (_id, { method, path }) => [`http.routes main ${routeKey(method, path)}`],
  shown: (_id, { method, path }) => `HTTP ${method} ${path}`
})

export const mcpExposure = exposureKind<boolean | McpExposure>('mcp', {
  claims: (id, mcp) => {
    const aliases = typeof mcp === 'object' ? (mcp.aliases ?? []) : []
    return mcp === false ? [] : [toolName(id, mcp), ...aliases].map(name => `tool ${name}`)
  },
  shown: (id, mcp) => `MCP tool ${toolName(id, mcp)}`
})

export const rpcExposure = exposureKind<boolean | string | RpcExposure>('rpc', {
  claims: (id, rpc) => methodNames(id, rpc).map(name => `method ${name}`),
  shown: (id, rpc) => {
    const [name, ...aliases] = methodNames(id, rpc)
    return `JSON-RPC ${name}${aliases.length === 0 ? '' : ` (also ${aliases.join(', ')})`}`
  }
})

export const cliExposure = exposureKind<CliExposure>('cli', {
  claims: (_id, { command }) => [`command ${command}`],
  shown: (_id, { command }) => `svc ${command}`
})

const BUILT_IN: readonly ExposureKind<any>[] = [httpExposure, mcpExposure, rpcExposure, cliExposure]

/** Data from an operation's exposures: the names that it claims, and where a user finds it. */
export interface ExposureDescription {
  readonly claims: readonly string[]
  readonly shown: readonly string[]
}

/** Returns this data for the four built-in surfaces, for a manifest of an earlier SDK that lacks it. */
export function builtInExposure(descriptor: ExposedDescriptor): ExposureDescription {
  return descriptionOf(descriptor.id, builtInOf(descriptor.expose))
}

/**
 * Converts exposures to data for a manifest: values by surface, claims and descriptions. Throws a TypeError if a
 * surface occurs twice.
 */
export function describeExposure(
  id: string,
  { also = [], ...expose }: Exposure
): ExposureDescription & Pick<OperationDescriptor, 'expose'> {
  const values: Record<string, unknown> = { ...expose }
  for (const { kind, value } of also) {
    if (values[kind.surface] !== undefined)
      throw new TypeError(`${id}: expose contains the surface ${kind.surface} twice`)
    values[kind.surface] = value
  }
  return { expose: values, ...descriptionOf(id, [...builtInOf(expose), ...also.filter(each => !isOff(each.value))]) }
}

function builtInOf(expose: Exposure): Exposed<any>[] {
  return BUILT_IN.flatMap(kind => {
    const value = kind.of({ expose })
    return isOff(value) ? [] : [{ kind, value }]
  })
}

/** True if an exposure is absent. `mcp: false` and `rpc: ''` expose nothing. */
function isOff(value: unknown): boolean {
  return value === undefined || value === false || value === ''
}

function descriptionOf(id: string, exposed: readonly Exposed<any>[]): ExposureDescription {
  return {
    claims: exposed.flatMap(({ kind, value }) => kind.claims(id, value)),
    shown: exposed.map(({ kind, value }) => kind.shown(id, value))
  }
}

/** Returns the key of a route. It ignores parameter names: `GET /a/:x` and `GET /a/:y` are the same route. */
export function routeKey(method: string, path: string): string {
  return `${method} ${path.replace(/:[^/]+/g, ':')}`
}

/** Returns the name of an operation as an MCP tool. */
export function mcpToolName({ id, expose: { mcp } }: ExposedDescriptor): string {
  return toolName(id, mcp)
}

/** Returns the RPC method names of an operation, aliases last. Empty if it is not exposed over RPC. */
export function rpcMethodNames({ id, expose: { rpc } }: ExposedDescriptor): readonly string[] {
  return rpc === undefined ? [] : methodNames(id, rpc)
}

function methodNames(id: string, rpc: boolean | string | RpcExposure): readonly string[] {
  if (isOff(rpc)) return []
  if (typeof rpc !== 'object') return [rpc === true ? id : (rpc as string)]
  return [rpc.name ?? id, ...rpcAliases(rpc).map(({ name }) => name)]
}

/** Returns the aliases of a method. An alias that is only a name becomes an object. */
export function rpcAliases(rpc: boolean | string | RpcExposure | undefined): readonly RpcAlias[] {
  const { aliases = [] } = typeof rpc === 'object' ? rpc : {}
  return aliases.map(alias => (typeof alias === 'string' ? { name: alias } : alias))
}

function toolName(id: string, mcp: boolean | McpExposure | undefined): string {
  return (typeof mcp === 'object' ? mcp.name : undefined) ?? id.replaceAll('.', '_')
}
