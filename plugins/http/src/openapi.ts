import { type GenerationView, type HttpHandlerRoute, httpHandlers, httpRoutes, routeKey } from '@svc/contracts'
import { defined, type HttpExposure, type JsonSchema, type OperationDescriptor } from '@svc/plugin-sdk'
import { SchemaBook } from './openapi-schemas.ts'

type Json = Record<string, unknown>

export interface ApiOptions {
  readonly version: string
  /** True if callers need a bearer token. */
  readonly secured: boolean
}

/**
 * Returns the OpenAPI 3.1 document of the main listener (https://spec.openapis.org/oas/v3.1.1). Operations have their
 * schemas; raw routes have only method, path and summary unless they describe themselves.
 */
export function describeApi(generation: GenerationView, { version, secured }: ApiOptions): Json {
  const book = new SchemaBook()
  const paths: Record<string, Json> = {}
  const tags = new Set<string>()
  // OpenAPI treats paths that differ only in parameter names as one path. The names of the first path are used.
  const first = new Map<string, string>()
  const add = (method: string, path: string, plugin: string, describe: (names: readonly string[]) => Json): void => {
    tags.add(plugin)
    const key = routeKey('', path)
    const named = first.get(key) ?? path
    first.set(key, named)
    const template = named.replace(PARAMETER, '{$1}')
    paths[template] ??= {}
    paths[template][method.toLowerCase()] = { ...describe(parameterNames(named)), tags: [plugin], 'x-plugin': plugin }
  }
  for (const { descriptor, unit } of generation.operations.values()) {
    const { http } = descriptor.expose
    if (http !== undefined)
      add(http.method, http.path, unit.name, names => describeOperation(descriptor, http, names, book))
  }
  for (const { item, unit } of [...generation.items(httpRoutes), ...generation.items(httpHandlers)]) {
    if ((item.listener ?? 'main') !== 'main') continue
    for (const route of item.routes) {
      const { method, path, summary, openapi }: Described = route
      // Wildcards and patterns have no equivalent in OpenAPI.
      if (!/[*()]/.test(path)) add(method, path, unit.name, names => openapi ?? describeRaw(names, summary))
    }
  }
  return {
    openapi: '3.1.1',
    info: { title: 'svc', version, description: 'Operations and routes of the active plugins.' },
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    tags: [...tags].sort().map(name => ({ name })),
    paths,
    components: {
      schemas: { ...book.components, Error: ERROR_SCHEMA },
      ...(secured ? { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } } : {})
    },
    ...(secured ? { security: [{ bearer: [] }] } : {})
  }
}

type Described = Pick<HttpHandlerRoute, 'method' | 'path' | 'summary' | 'openapi'>

const PARAMETER = /:([A-Za-z0-9_]+)/g

function parameterNames(path: string): string[] {
  return [...path.matchAll(PARAMETER)].map(match => match[1] as string)
}

/** Describes an operation. `shown`: the path's parameter names in the document. */
function describeOperation(
  descriptor: OperationDescriptor,
  { method, path, status = 200 }: HttpExposure,
  shown: readonly string[],
  book: SchemaBook
): Json {
  const names = parameterNames(path)
  const input = descriptor.input as { properties?: Record<string, JsonSchema>; required?: readonly string[] }
  const schemaOf = (name: string): JsonSchema =>
    book.place(input.properties?.[name] ?? {}, descriptor.input, `${descriptor.id}.input`)
  const parameters: Json[] = names.map((name, at) => ({
    name: shown[at],
    in: 'path',
    required: true,
    schema: schemaOf(name)
  }))
  const fromQuery = method === 'GET' || method === 'DELETE'
  if (fromQuery) {
    for (const name of Object.keys(input.properties ?? {})) {
      if (names.includes(name)) continue
      const schema = schemaOf(name)
      const required = input.required?.includes(name) ?? false
      const { description } = schema
      const shape = schema.type === 'object' ? { content: { 'application/json': { schema } } } : { schema }
      parameters.push({ name, in: 'query', required, ...defined({ description }), ...shape })
    }
  }
  const body = fromQuery ? null : bodySchema(descriptor, names, book)
  return {
    operationId: descriptor.id,
    summary: descriptor.summary,
    ...(descriptor.description === undefined ? {} : { description: descriptor.description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === null
      ? {}
      : { requestBody: { content: { 'application/json': { schema: body.schema } }, required: body.required } }),
    responses: {
      [status]: describeSuccess(descriptor, book),
      ...describeErrors(descriptor),
      default: errorResponse('Any other error.')
    },
    'x-effect': descriptor.effect,
    ...(descriptor.scopes.length === 0 ? {} : { 'x-scopes': descriptor.scopes })
  }
}

/** Returns the schema of the body: the input without the path parameters. Null if nothing is left. */
function bodySchema(
  { id, input }: OperationDescriptor,
  names: readonly string[],
  book: SchemaBook
): { schema: JsonSchema; required: boolean } | null {
  const place = (schema: JsonSchema): JsonSchema => book.place(schema, input, `${id}.input`)
  const { properties, required, examples, ...rest } = input as {
    properties?: Json
    required?: readonly string[]
    examples?: readonly Json[]
  }
  if (properties === undefined) return { schema: place(input), required: true }
  const left = Object.entries(properties).filter(([name]) => !names.includes(name))
  if (left.length === 0) return null
  const needed = (required ?? []).filter(name => !names.includes(name))
  const shown = examples?.map(each =>
    Object.fromEntries(Object.entries(each).filter(([name]) => !names.includes(name)))
  )
  const schema = {
    ...rest,
    properties: Object.fromEntries(left),
    ...(needed.length === 0 ? {} : { required: needed }),
    ...defined({ examples: shown })
  }
  return { schema: place(schema), required: needed.length > 0 }
}

function describeSuccess(descriptor: OperationDescriptor, book: SchemaBook): Json {
  const { properties } = descriptor.output as { properties?: Readonly<Record<string, JsonSchema>> }
  const { answer = '' } = descriptor.expose.http ?? {}
  const result = book.place(properties?.[answer] ?? descriptor.output, descriptor.output, `${descriptor.id}.output`)
  const content: Json = { 'application/json': { schema: result } }
  if (descriptor.events !== undefined) {
    content['text/event-stream'] = {
      schema: { type: 'string', description: 'Events named event, progress and, at the end, result or error.' },
      'x-event': book.place(descriptor.events, descriptor.events, `${descriptor.id}.event`)
    }
  }
  return { description: 'The result.', content }
}

/** Groups declared errors by status: OpenAPI allows one response per status. */
function describeErrors(descriptor: OperationDescriptor): Json {
  const byStatus = new Map<number, string[]>()
  for (const [code, { message, status = 422 }] of Object.entries(descriptor.errors)) {
    byStatus.set(status, [...(byStatus.get(status) ?? []), `${code}: ${message}`])
  }
  return Object.fromEntries([...byStatus].map(([status, lines]) => [status, errorResponse(lines.join('\n\n'))]))
}

function errorResponse(description: string): Json {
  return { description, content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } }
}

function describeRaw(names: readonly string[], summary: string | undefined): Json {
  const parameters = names.map(name => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
  return {
    summary: summary ?? 'A route with its own wire format.',
    ...(parameters.length === 0 ? {} : { parameters }),
    responses: { default: { description: 'Defined by the wire format.' } },
    'x-raw': true
  }
}

const ERROR_SCHEMA = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'request_id'],
      properties: {
        code: { type: 'string', description: 'Stable code of the error.' },
        message: { type: 'string' },
        hint: { type: 'string', description: 'What to do next.' },
        data: { description: 'Machine-readable details.' },
        request_id: { type: 'string' },
        docs: { type: 'string', description: 'URL of a page that explains the code.' }
      }
    }
  }
}
