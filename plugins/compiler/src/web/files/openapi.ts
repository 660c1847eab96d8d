import {
  answerType,
  type GuardDeclaration,
  type HirModule,
  type HirParam,
  type HttpBody,
  type HttpEndpoint,
  httpEndpointsOf,
  httpInputOf,
  isRequiredParam,
  isResponseRoute,
  TypeNames,
  TypeSchemas
} from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { fileUse } from '../endpoints.ts'
import { operationIds } from '../operation-ids.ts'
import type { WebModule } from '../web-module.ts'
import { guardFailures, guardFields, securitySchemes } from './openapi-guards.ts'
import { userPaths } from './openapi-users.ts'

const BASE = '#/components/schemas/'

/** Response body of every error of a program's HTTP listener. */
const ERROR = {
  type: 'object',
  properties: {
    error: { type: 'string', description: 'The problem, for users.' },
    code: { type: 'string', description: 'Stable across versions.' },
    details: { description: 'Details; for an argument its path, and the expected and the actual value.' },
    hint: { type: 'string', description: 'How to resolve the problem.' },
    request_id: { type: 'string', description: 'Value of the header x-request-id, which log lines include.' }
  },
  required: ['error', 'code'],
  additionalProperties: false
}

/** Generates `openapi.json`: the HTTP endpoints as OpenAPI 3.1. null if there are no endpoints. */
export function openApiFile(web: WebModule): EmittedFile | null {
  return httpEndpointsOf(web.hir).length === 0 ? null : { path: 'openapi.json', text: openApiText(web) }
}

export function openApiText({ hir, defaults, guards, users, name }: WebModule): string {
  const schemas = new TypeSchemas(new TypeNames(hir), defaults, BASE)
  const endpoints = httpEndpointsOf(hir)
  const ids = operationIds(endpoints)
  const declared = new Set([...hir.types, ...hir.tables].map(each => each.name))
  const errorName = declared.has('CallError') ? 'CallError_' : 'CallError'
  const paths: Record<string, Record<string, object>> = {}
  for (const [index, endpoint] of endpoints.entries()) {
    const path = endpoint.route.path.replace(/:(\w+)/g, '{$1}')
    const guard = guards.find(each => each.kind === endpoint.kind && each.name === endpoint.name)
    const operation = operationOf(hir, endpoint, ids[index] as string, schemas, errorName, guard)
    paths[path] = { ...paths[path], [endpoint.route.method.toLowerCase()]: operation }
  }
  // Declarations of the program have precedence.
  const ofUsers = users === null ? {} : userPaths(users, hir, schemas, BASE + errorName)
  const document = {
    openapi: '3.1.0',
    info: { title: name, version: '1.0.0' },
    paths: { ...ofUsers, ...paths },
    components: {
      schemas: { ...Object.fromEntries(schemas.definitions), [errorName]: ERROR },
      ...securitySchemes(guards)
    }
  }
  // JavaScript prints 2^63 rounded, as a number that other parsers reject as too large for an int.
  return `${JSON.stringify(document, null, 2).replaceAll(String(2 ** 63), String(2n ** 63n))}\n`
}

function operationOf(
  hir: HirModule,
  endpoint: HttpEndpoint,
  operationId: string,
  schemas: TypeSchemas,
  errorName: string,
  guard: GuardDeclaration | undefined
): object {
  const { kind, name, returns } = endpoint
  const { path, query, body } = httpInputOf(endpoint)
  const parameters = [
    ...path.map(({ name, type_ann }) => ({ name, in: 'path', required: true, schema: schemas.of(type_ann) })),
    ...query.map(param => queryParameter(param, kind, schemas))
  ]
  const content = { 'application/json': { schema: { $ref: BASE + errorName } } }
  const failures = FAILURES.filter(({ needs }) => needs === undefined || needs(body))
  const errors = [...failures, ...guardFailures(guard)].map(
    ({ status, description, headers }) => [status, { description, ...defined({ headers }), content }] as const
  )
  return {
    operationId,
    tags: [kind],
    ...guardFields(guard),
    summary: kind === 'route' ? name : `The ${kind === 'server' ? 'function' : kind} ${name}`,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body.kind === 'none' ? {} : { requestBody: requestBody(hir, body, schemas) }),
    responses: {
      '200': isResponseRoute(endpoint, hir)
        ? { description: 'A response that the program makes.', content: { '*/*': {} } }
        : {
            description: 'The result.',
            content: { 'application/json': { schema: schemas.of(answerType(returns, hir)) } }
          },
      ...Object.fromEntries(errors)
    }
  }
}

interface FailureResponse {
  readonly status: string
  readonly description: string
  readonly headers?: object
  readonly needs?: (body: HttpBody) => boolean
}

const FAILURES: readonly FailureResponse[] = [
  { status: '400', description: 'An argument is missing, unknown or of the wrong type.' },
  { status: '409', description: 'The request conflicts with stored data, or with another request.' },
  {
    status: '413',
    description: 'The body is larger than the limit.',
    needs: ({ kind }) => kind !== 'none'
  },
  {
    status: '415',
    description: 'The body is not JSON.',
    needs: ({ kind }) => kind === 'fields' || kind === 'whole'
  },
  { status: '500', description: 'The function returned an Error, or failed.' },
  { status: '503', description: 'Too many requests are running, or the call takes longer than a caller may wait.' },
  { status: '504', description: 'The call exceeded its time limit.' },
  { status: 'default', description: 'The call failed in another way.' }
]

/**
 * Describes a query parameter. Its value is JSON, except for strings and numbers of a declared route, which are plain
 * text.
 */
function queryParameter(param: HirParam, kind: HttpEndpoint['kind'], schemas: TypeSchemas): object {
  const schema = schemas.of(param.type_ann)
  const common = { name: param.name, in: 'query', required: isRequiredParam(param) }
  return kind === 'query' ? { ...common, content: { 'application/json': { schema } } } : { ...common, schema }
}

function requestBody(hir: HirModule, body: HttpBody, schemas: TypeSchemas): object {
  switch (body.kind) {
    case 'fields': {
      const required = body.params.some(isRequiredParam)
      const json = { schema: schemas.ofParams(body.params) }
      return { required, content: { 'application/json': json, ...formContent(hir, body.params, schemas) } }
    }
    case 'whole': {
      const { type_ann } = body.param
      const json = { schema: schemas.of(type_ann) }
      return {
        required: isRequiredParam(body.param),
        content: { 'application/json': json, ...formContent(hir, [body.param], schemas) }
      }
    }
    default:
      return { required: false, content: { '*/*': { schema: {} } } }
  }
}

/** Describes the form that uploads files; empty for functions without file parameters. */
function formContent(hir: HirModule, params: readonly HirParam[], schemas: TypeSchemas): object {
  const uses = params.map(({ type_ann }) => fileUse(hir, type_ann))
  if (uses.every(use => use === null)) return {}
  const file = { type: 'string', contentMediaType: 'application/octet-stream' }
  const properties = params.map(({ name, type_ann }, index) => {
    const use = uses[index]
    return [
      name,
      use === 'one' ? file : use === 'many' ? { type: 'array', items: file } : schemas.of(type_ann)
    ] as const
  })
  const schema = {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: params.filter((param, index) => isRequiredParam(param) && uses[index] !== 'many').map(({ name }) => name),
    additionalProperties: false
  }
  return { 'multipart/form-data': { schema } }
}
