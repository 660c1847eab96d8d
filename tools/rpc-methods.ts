import {
  type JsonSchema,
  type OperationDescriptor,
  type PluginManifest,
  rpcAliases,
  rpcMethodNames
} from '@svc/plugin-sdk'

/** Methods that peers of other programs know; `rpc.discover` lists the rest. */
const PREFIXES = ['orch.', 'ai.plan.']

interface Method {
  readonly name: string
  /** Name of the method that this name is an alias of. */
  readonly aliasOf?: string
  readonly ignoresUnknown: boolean
  readonly descriptor: OperationDescriptor
}

/** A JSON Schema of the requests to the daemon; under `$defs` stand the parameters, the result and the errors of each method. */
export function renderRpcMethods(manifests: readonly PluginManifest[]): string {
  const methods = manifests
    .flatMap(({ operations }) => operations)
    .flatMap(descriptor => {
      const [own] = rpcMethodNames(descriptor)
      if (own === undefined) return []
      const aliases = rpcAliases(descriptor.expose.rpc).map(({ name, unknownParams }): Method => {
        return { name, aliasOf: own, ignoresUnknown: unknownParams === 'ignore', descriptor }
      })
      return [{ name: own, ignoresUnknown: false, descriptor }, ...aliases]
    })
    .filter(({ name }) => PREFIXES.some(prefix => name.startsWith(prefix)))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  return `${JSON.stringify(schemaOf(methods), null, 2)}\n`
}

function schemaOf(methods: readonly Method[]): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Request to the daemon of the orchestrator',
    description:
      'One line of JSON. Made by `npm run docs` from the operations: $defs has params, result, errors and, where a method streams, event of each method.',
    type: 'object',
    properties: {
      jsonrpc: { const: '2.0', description: 'If present, the answer has the form of JSON-RPC 2.0.' },
      id: { type: ['string', 'number'], description: 'Returned with the answer.' },
      method: { enum: methods.map(({ name }) => name) },
      params: { type: 'object', default: {} }
    },
    required: ['method'],
    allOf: methods.map(({ name, descriptor }) => ({
      if: { properties: { method: { const: name } }, required: ['method'] },
      // biome-ignore lint/suspicious/noThenProperty: it is the keyword of JSON Schema
      then: {
        properties: { params: { $ref: `#/$defs/${name}/$defs/params` } },
        ...(Array.isArray(descriptor.input.required) && descriptor.input.required.length > 0
          ? { required: ['params'] }
          : {})
      }
    })),
    $defs: Object.fromEntries(methods.map(method => [method.name, methodOf(method)]))
  }
}

function methodOf({ aliasOf, ignoresUnknown, descriptor }: Method): JsonSchema {
  const { summary, input, output, events, errors, effect, idempotent } = descriptor
  return {
    description: summary,
    ...(aliasOf === undefined ? {} : { 'x-alias-of': aliasOf }),
    'x-effect': effect,
    'x-idempotent': idempotent,
    $defs: {
      params: ignoresUnknown ? { ...input, additionalProperties: true } : input,
      result: output,
      errors: errorsOf(errors),
      ...(events === undefined ? {} : { event: events })
    }
  }
}

/** Error codes in addition to those of every method; docs/errors.md explains each. */
function errorsOf(errors: OperationDescriptor['errors']): JsonSchema {
  const codes = Object.keys(errors)
  return codes.length === 0 ? { not: {} } : { enum: codes }
}
