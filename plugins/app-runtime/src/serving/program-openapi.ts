import type { HirParam, HirType, Program } from '@svc/contracts'
import type { JsonSchema } from '@svc/plugin-sdk'
import { TypeNames } from '../wire/type-names.ts'
import { isOptional, TypeSchemas } from '../wire/type-schemas.ts'
import { type Endpoint, type EndpointRoute, endpointsOf } from './endpoints.ts'

const ERROR = {
  type: 'object',
  properties: {
    error: { type: 'string', description: 'What went wrong, for people.' },
    code: { type: 'string', description: 'Stays the same from version to version.' },
    details: { description: 'Facts about it: of an argument its path, what was expected and what was found.' },
    hint: { type: 'string' }
  },
  required: ['error', 'code']
}

/** The OpenAPI 3.1 description of what a program answers over HTTP. `title` names it. */
export function programOpenApi({ module, defaults }: Program, title: string): Record<string, unknown> {
  const schemas = new TypeSchemas(new TypeNames(module), defaults, '#/components/schemas/')
  const paths: Record<string, Record<string, unknown>> = {}
  for (const endpoint of endpointsOf(module)) {
    const { route } = endpoint
    if (route === null) continue
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    const methods = (paths[path] ??= {})
    methods[route.method.toLowerCase()] = operation(endpoint, route, schemas)
  }
  return {
    openapi: '3.1.0',
    info: { title, version: '1.0.0' },
    paths,
    components: { schemas: { ...Object.fromEntries(schemas.definitions), CallError: ERROR } }
  }
}

function operation(endpoint: Endpoint, route: EndpointRoute, schemas: TypeSchemas): Record<string, unknown> {
  const { kind, name, params } = endpoint
  const declared = params.filter(param => param.name !== 'request' && !route.inPath.includes(param.name))
  const inPath = route.inPath.map(each => {
    const type = params.find(param => param.name === each)?.type_ann ?? { Named: 'str' }
    return { name: each, in: 'path', required: true, schema: schemas.of(type) }
  })
  const hasBody = route.method === 'POST' || route.method === 'PUT'
  const query = hasBody ? [] : declared.map(param => queryParameter(param, kind, schemas))
  const parameters = [...inPath, ...query]
  const error = (description: string) => ({
    description,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/CallError' } } }
  })
  return {
    operationId: kind === 'route' ? name.replace(/\W+/g, '_').replace(/_$/, '') : name,
    summary: kind === 'route' ? name : `The ${kind === 'server' ? 'function' : kind} ${name}`,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(hasBody ? { requestBody: bodyOf(endpoint, declared, schemas) } : {}),
    responses: {
      200: {
        description: 'What it answers.',
        content: { 'application/json': { schema: schemas.of(answerOf(endpoint.returns)) } }
      },
      400: error('An argument is missing, unknown or of another type.'),
      500: error('It answered with an Error, or failed.')
    }
  }
}

/** Values of a query are JSON each; those of a declared route are text where their type is one of text or numbers. */
function queryParameter(param: HirParam, kind: Endpoint['kind'], schemas: TypeSchemas): Record<string, unknown> {
  const schema = schemas.of(param.type_ann)
  const { name } = param
  const common = { name, in: 'query', required: isRequired(param) }
  return kind === 'query' ? { ...common, content: { 'application/json': { schema } } } : { ...common, schema }
}

function bodyOf({ kind }: Endpoint, declared: readonly HirParam[], schemas: TypeSchemas): Record<string, unknown> {
  const [only] = declared
  // As `routeArguments` reads it.
  const isWhole = kind === 'route' && declared.length === 1 && only !== undefined && !isPlain(only.type_ann)
  const schema = isWhole ? schemas.of(only.type_ann) : objectSchema(declared, schemas)
  const isNeeded = declared.some(isRequired)
  if (kind === 'route' && declared.length === 0) return { required: false, content: { '*/*': { schema: {} } } }
  return { required: isNeeded, content: { 'application/json': { schema } } }
}

/** Of parameters by name. */
export function objectSchema(params: readonly HirParam[], schemas: Pick<TypeSchemas, 'of'>): JsonSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(params.map(({ name, type_ann }) => [name, schemas.of(type_ann)])),
    required: params.filter(isRequired).map(({ name }) => name),
    additionalProperties: false
  }
}

function isRequired(param: HirParam): boolean {
  return param.default === null && !isOptional(param.type_ann)
}

const PLAIN: ReadonlySet<string> = new Set(['int', 'float', 'str', 'char', 'bool', 'dec', 'Id'])

/** Whether values of a type stand in an address as they are. */
export function isPlain(type: HirType | null): boolean {
  if (type === 'Decimal') return true
  if (type === null || typeof type === 'string') return false
  if ('Named' in type) return PLAIN.has(type.Named)
  if (!('Generic' in type)) return false
  const [name, [item = null]] = type.Generic
  return name === 'Id' || (name === 'Option' && isPlain(item))
}

/** What a function answers with: of a Result what is in it. */
export function answerOf(type: HirType | null): HirType | null {
  const isResult = typeof type === 'object' && type !== null && 'Generic' in type && type.Generic[0] === 'Result'
  return isResult ? (type.Generic[1][0] ?? null) : type
}
