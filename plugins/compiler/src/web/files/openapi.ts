import { pathParameters } from '../../check/names/path-parameters.ts'
import type { HirParam } from '../../hir/hir.ts'
import type { EmittedFile } from '../emitted-file.ts'
import { answerOf, type Endpoint, endpointsOf, isOptional } from '../endpoints.ts'
import { type JsonSchema, JsonSchemas } from '../json-schemas.ts'
import type { WebModule } from '../web-module.ts'

const ERRORS = {
  default: {
    description: 'Failed.',
    content: { 'application/json': { schema: { $ref: '#/components/schemas/_Error' } } }
  }
}

/** `openapi.json`: what answers over HTTP, as OpenAPI 3.1. None for a program where nothing does. */
export function openApiFile({ hir, name }: WebModule): EmittedFile | null {
  const schemas = new JsonSchemas(hir)
  const paths: Record<string, Record<string, object>> = {}
  const add = (path: string, method: string, operation: object): void => {
    paths[path] = { ...paths[path], [method]: operation }
  }
  for (const endpoint of endpointsOf(hir))
    add(endpoint.route_path, endpoint.method.toLowerCase(), rpc(endpoint, schemas))
  for (const { method, path, params = [], return_type } of hir.routes) {
    const shown = path.replace(/:([a-z_]\w*)/gi, '{$1}')
    const inPath = pathParameters(path)
    const known = (parameter: string): HirParam | undefined => params.find(param => param.name === parameter)
    const rest = params.filter(param => !inPath.includes(param.name))
    const parameters = [
      ...inPath.map(each => parameter(each, 'path', true, schemas.of(known(each)?.type_ann ?? { Named: 'str' }))),
      ...rest.map(each => parameter(each.name, 'query', !isOptional(each), schemas.of(each.type_ann)))
    ]
    const takesBody = method === 'Post' || method === 'Put'
    add(shown, method.toLowerCase(), {
      operationId: `${method.toLowerCase()}${shown.replace(/[^A-Za-z0-9]+/g, '_')}`,
      ...(parameters.length === 0 ? {} : { parameters }),
      ...(takesBody ? { requestBody: { content: { 'application/json': { schema: {} } } } } : {}),
      responses: answers(schemas.of(answerOf({ return_type })))
    })
  }
  if (Object.keys(paths).length === 0) return null
  const error = {
    type: 'object',
    properties: { error: { type: 'string' }, code: { type: 'string' } },
    required: ['error']
  }
  const document = {
    openapi: '3.1.0',
    info: { title: name, version: '1.0.0' },
    paths,
    components: { schemas: { ...schemas.declared(), _Error: error } }
  }
  return { path: 'openapi.json', text: `${JSON.stringify(document, null, 2)}\n` }
}

function rpc(endpoint: Endpoint, schemas: JsonSchemas): object {
  const { name, kind, params, method } = endpoint
  const required = params.filter(param => !isOptional(param)).map(param => param.name)
  const properties = Object.fromEntries(params.map(param => [param.name, schemas.of(param.type_ann)]))
  const body = {
    type: 'object',
    properties,
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false
  }
  const asJson = (param: HirParam): object => ({
    name: param.name,
    in: 'query',
    required: !isOptional(param),
    content: { 'application/json': { schema: schemas.of(param.type_ann) } }
  })
  return {
    operationId: name,
    tags: [kind],
    ...(method === 'GET' && params.length > 0 ? { parameters: params.map(asJson) } : {}),
    ...(method === 'POST'
      ? { requestBody: { required: required.length > 0, content: { 'application/json': { schema: body } } } }
      : {}),
    responses: answers(schemas.of(answerOf(endpoint)))
  }
}

function parameter(name: string, place: 'path' | 'query', required: boolean, schema: JsonSchema): object {
  return { name, in: place, required, schema }
}

function answers(schema: JsonSchema): object {
  return { '200': { description: 'The result.', content: { 'application/json': { schema } } }, ...ERRORS }
}
