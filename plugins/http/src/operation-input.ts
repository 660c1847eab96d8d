import type { IncomingMessage } from 'node:http'
import { type JsonSchema, type OperationDescriptor, parseStrictJson } from '@svc/plugin-sdk'
import { hasSecrets } from '@svc/plugin-sdk/check'
import { parse } from 'fast-querystring'
import { httpErrors } from './errors.ts'
import { hasBody } from './read-body.ts'
import type { Match } from './route-table.ts'

/** Rules for building an operation's input from a request, computed once per operation. */
export interface InputPlan {
  /** True if fields come from the query; otherwise from a JSON body. */
  readonly query: boolean
  /** Fields from the path. */
  readonly path: readonly string[]
  /** Fields from the path that are secrets. */
  readonly secrets: readonly string[]
  /** Accepted types of each declared field. */
  readonly types: ReadonlyMap<string, ReadonlySet<string>>
}

type Fields = Record<string, unknown>

const plans = new WeakMap<OperationDescriptor, InputPlan>()

export function planInput(descriptor: OperationDescriptor): InputPlan {
  const known = plans.get(descriptor) ?? newPlan(descriptor)
  plans.set(descriptor, known)
  return known
}

function newPlan(descriptor: OperationDescriptor): InputPlan {
  const { method, path } = descriptor.expose.http as { method: string; path: string }
  const properties = (descriptor.input.properties ?? {}) as Readonly<Record<string, JsonSchema>>
  const fields = [...path.matchAll(/:([A-Za-z0-9_]+)/g)].map(match => match[1] as string)
  return {
    query: method === 'GET' || method === 'DELETE',
    path: fields,
    secrets: fields.filter(name => hasSecrets(properties[name])),
    types: new Map(
      Object.entries(properties).map(([name, schema]) => [name, new Set(acceptedTypes(schema, descriptor.input))])
    )
  }
}

/**
 * Returns the input from path and query. Its values are strings; the kernel converts them to numbers and booleans.
 * Throws `HTTP_QUERY_INVALID`, or `HTTP_BODY_UNEXPECTED` for a request with a body.
 */
export function inputFromQuery(plan: InputPlan, { params, searchParams }: Match, request: IncomingMessage): Fields {
  if (hasBody(request)) {
    const message = `${request.method} reads its input from the query, not from a body`
    throw httpErrors.create('HTTP_BODY_UNEXPECTED', message)
  }
  const input: Fields = {}
  if (searchParams !== '') {
    const values = parse(searchParams) as Fields
    for (const name in values) {
      const value = values[name]
      if (name === '__proto__') throw httpErrors.create('HTTP_QUERY_INVALID', 'the query may not contain __proto__')
      if (plan.path.includes(name)) {
        const message = `"${name}" is in the path and may not be in the query as well`
        throw httpErrors.create('HTTP_QUERY_INVALID', message)
      }
      const types = plan.types.get(name)
      input[name] = types === undefined || !types.has('object') ? value : readObjects(name, value, types)
    }
  }
  for (const name of plan.path) input[name] = pathField(name, params)
  return input
}

/**
 * Returns the input from path and body. Path text becomes a number or a boolean if the schema requires one.
 * Throws `HTTP_BODY_UNEXPECTED`, or `HTTP_QUERY_INVALID` for a request with a query.
 */
export function inputFromBody(plan: InputPlan, { params, searchParams }: Match, body: unknown): unknown {
  if (searchParams !== '') {
    throw httpErrors.create(
      'HTTP_QUERY_INVALID',
      `the input belongs in a JSON body; the request has the query "${searchParams}"`
    )
  }
  if (plan.path.length === 0) return body === undefined ? {} : body
  if (body !== undefined && (typeof body !== 'object' || body === null || Array.isArray(body))) return body
  const input = (body ?? {}) as Fields
  for (const name of plan.path) {
    if (Object.hasOwn(input, name)) {
      const message = `"${name}" is in the path and may not be in the body as well`
      throw httpErrors.create('HTTP_BODY_UNEXPECTED', message)
    }
    input[name] = readScalar(pathField(name, params), plan.types.get(name))
  }
  return input
}

/** Returns a path parameter. Throws `HTTP_NOT_FOUND` if it is empty, which the router allows. */
function pathField(name: string, params: Match['params']): string {
  const value = params[name]
  if (value) return value
  throw httpErrors.create('HTTP_NOT_FOUND', `the path parameter "${name}" is empty`)
}

/**
 * Parses a query value that must be an object, as JSON. Text without a leading brace stays text if a string is allowed.
 */
function readObjects(name: string, value: unknown, types: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map(each => readObjects(name, each, types))
  const text = value as string
  if (types.has('string') && !text.startsWith('{')) return text
  try {
    return parseStrictJson(text)
  } catch {
    throw httpErrors.create('HTTP_QUERY_INVALID', `the query parameter "${name}" must be JSON`, {
      hint: `write the object as URL-encoded JSON: ${name}=${encodeURIComponent('{"key":"value"}')}`
    })
  }
}

/** Converts path text in JSON syntax to a number or boolean; other text stays text and is left to validation. */
function readScalar(text: string, types: ReadonlySet<string> | undefined): unknown {
  if (types === undefined || types.has('string')) return text
  if (types.has('number') && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return Number(text)
  if (types.has('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

/** Yields the types that a schema accepts. `integer` counts as `number`; the types of array items are included. */
function* acceptedTypes(schema: JsonSchema, root: JsonSchema, depth = 0): Iterable<string> {
  if (depth > 8) return
  const { type, anyOf, oneOf, allOf, items, $ref } = schema
  for (const each of Array.isArray(type) ? type : [type]) {
    if (typeof each === 'string') yield each === 'integer' ? 'number' : each
  }
  if (Array.isArray(schema.enum)) yield* schema.enum.map(value => typeof value)
  for (const branch of [anyOf, oneOf, allOf]) {
    if (Array.isArray(branch)) for (const each of branch) yield* acceptedTypes(each as JsonSchema, root, depth + 1)
  }
  if (typeof items === 'object' && items !== null) yield* acceptedTypes(items as JsonSchema, root, depth + 1)
  const definition = typeof $ref === 'string' ? /^#\/\$defs\/([^/]+)$/.exec($ref)?.[1] : undefined
  const target =
    definition === undefined ? undefined : (root.$defs as Record<string, JsonSchema> | undefined)?.[definition]
  if (target !== undefined) yield* acceptedTypes(target, root, depth + 1)
}
