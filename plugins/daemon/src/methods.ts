import type { GenerationView, OperationEntry } from '@svc/contracts'
import { defined, type JsonSchema, rpcAliases, rpcMethodNames } from '@svc/plugin-sdk'

/** Method under one of its names. */
export interface Method {
  readonly entry: OperationEntry
  /** Main name of the method, if this name is an alias. */
  readonly aliasOf?: string
  /** Accepted params; others are dropped. Undefined: the input schema decides. */
  readonly known?: ReadonlySet<string>
}

/** Methods of one generation by name. Names are unique: the kernel rejects duplicates. */
export type MethodTable = ReadonlyMap<string, Method>

export function buildMethods(generation: GenerationView): MethodTable {
  const methods = [...generation.operations.values()].flatMap(entry => {
    const [own] = rpcMethodNames(entry.descriptor)
    if (own === undefined) return []
    const known = new Set(Object.keys((entry.descriptor.input.properties ?? {}) as object))
    const aliases = rpcAliases(entry.descriptor.expose.rpc).map(
      ({ name, unknownParams }): readonly [string, Method] => {
        const dropped = unknownParams === 'ignore' ? { known } : {}
        return [name, { entry, aliasOf: own, ...dropped }]
      }
    )
    return [[own, { entry }] as const, ...aliases]
  })
  return new Map(methods.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Returns the params without unknown ones, if this name of the method ignores them. */
export function acceptedParams(params: object, { known }: Method): object {
  if (known === undefined || Object.keys(params).every(name => known.has(name))) return params
  return Object.fromEntries(Object.entries(params).filter(([name]) => known.has(name)))
}

/** Describes the methods as an OpenRPC 1.3 document. */
export function describeMethods(methods: MethodTable, version: string): object {
  return {
    openrpc: '1.3.2',
    info: { title: 'svc daemon', version },
    methods: [...methods].map(([name, method]) => describeMethod(name, method))
  }
}

function describeMethod(name: string, { entry, aliasOf }: Method): object {
  const { summary, description, input, output, events, errors, effect, idempotent } = entry.descriptor
  return defined({
    name,
    summary,
    description,
    paramStructure: 'by-name',
    params: describeParams(input),
    result: { name: 'result', schema: output },
    errors: Object.entries(errors).map(([code, spec]) => ({ code: -32_000, message: spec.message, data: { code } })),
    'x-effect': effect,
    'x-idempotent': idempotent,
    'x-alias-of': aliasOf,
    'x-events': events
  })
}

function describeParams(input: JsonSchema): object[] {
  const required = new Set((input.required as readonly string[] | undefined) ?? [])
  const properties = (input.properties ?? {}) as Readonly<Record<string, JsonSchema>>
  return Object.entries(properties).map(([name, schema]) => ({ name, required: required.has(name), schema }))
}
