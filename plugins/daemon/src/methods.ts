import type { GenerationView, OperationEntry } from '@svc/contracts'
import type { JsonSchema, OperationDescriptor } from '@svc/plugin-sdk'

/** Methods of one generation, by name. The kernel has refused two operations with one method name. */
export type MethodTable = ReadonlyMap<string, OperationEntry>

export function buildMethods(generation: GenerationView): MethodTable {
  const methods = [...generation.operations.values()].flatMap(entry => {
    const { id, expose } = entry.descriptor
    return expose.rpc ? [[expose.rpc === true ? id : expose.rpc, entry] as const] : []
  })
  return new Map(methods.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Describes the methods as an OpenRPC 1.3 document. */
export function describeMethods(methods: MethodTable, version: string): object {
  return {
    openrpc: '1.3.2',
    info: { title: 'svc daemon', version },
    methods: [...methods].map(([name, { descriptor }]) => describeMethod(name, descriptor))
  }
}

function describeMethod(name: string, descriptor: OperationDescriptor): object {
  const { summary, description, output, events, errors, effect, idempotent } = descriptor
  return {
    name,
    summary,
    ...(description === undefined ? {} : { description }),
    paramStructure: 'by-name',
    params: describeParams(descriptor.input),
    result: { name: 'result', schema: output },
    errors: Object.entries(errors).map(([code, spec]) => ({ code: -32_000, message: spec.message, data: { code } })),
    'x-effect': effect,
    'x-idempotent': idempotent,
    ...(events === undefined ? {} : { 'x-events': events })
  }
}

function describeParams(input: JsonSchema): object[] {
  const required = new Set((input.required as readonly string[] | undefined) ?? [])
  const properties = (input.properties ?? {}) as Readonly<Record<string, JsonSchema>>
  return Object.entries(properties).map(([name, schema]) => ({ name, required: required.has(name), schema }))
}
