import {
  answerType,
  type HirParam,
  type HirType,
  type HttpEndpoint,
  httpInputOf,
  isRequiredParam,
  TypeNames,
  TypeSchemas
} from '@svc/contracts'
import { defined, type Handler } from '@svc/plugin-sdk'
import { columnType, typeText } from '../schema/column-type.ts'
import { tableName } from '../schema/names.ts'
import type { Endpoint } from '../serving/endpoints.ts'
import type { appDescribe } from './operations.ts'
import type { ServedApp } from './served-apps.ts'

type Description = Awaited<ReturnType<Handler<typeof appDescribe>>>
type Route = Description['routes'][number]

/** Describes the routes of a program. `withSchemas`: adds the JSON Schema of the input of each. */
export function describeRoutes({ program, endpoints }: ServedApp, auth: Route['auth'], withSchemas: boolean): Route[] {
  const names = new TypeNames(program.module)
  return endpoints.filter(isRoute).map((endpoint): Route => {
    const { kind, name, returns, route } = endpoint
    const params = paramsOf(endpoint)
    const schemas = new TypeSchemas(names, program.defaults)
    const declared = endpoint.params.filter(param => param.name !== 'request' || kind !== 'route')
    return {
      route: `${route.method} ${route.path}`,
      method: route.method,
      path: route.path,
      kind,
      name,
      params,
      inputs: params.map(param => `${param.name}: ${param.type}${param.required ? '' : ' (optional)'}`).join(', '),
      body: httpInputOf(endpoint).body.kind,
      returns: typeName(answerType(returns, program.module)),
      auth,
      ...defined({ schema: withSchemas ? schemas.whole(schemas.ofParams(declared)) : undefined })
    }
  })
}

function isRoute(endpoint: Endpoint): endpoint is Endpoint & HttpEndpoint {
  return endpoint.route !== null
}

function paramsOf(endpoint: HttpEndpoint): Route['params'] {
  const { path, query, body } = httpInputOf(endpoint)
  const inBody = body.kind === 'fields' ? body.params : body.kind === 'whole' ? [body.param] : []
  return [
    ...path.map(param => ({ ...shownParam(param), in: 'path' as const, required: true })),
    ...query.map(param => ({ ...shownParam(param), in: 'query' as const })),
    ...inBody.map(param => ({ ...shownParam(param), in: 'body' as const }))
  ]
}

function shownParam(param: HirParam): { readonly name: string; readonly type: string; readonly required: boolean } {
  return { name: param.name, type: typeName(param.type_ann), required: isRequiredParam(param) }
}

function typeName(type: HirType | null): string {
  return type === null ? 'any' : typeText(type)
}

export function describeTables({ program: { module } }: Pick<ServedApp, 'program'>): Description['tables'] {
  return module.tables.map(({ name, fields }) => {
    const columns = fields.map(field => {
      const { kind, nullable } = columnType(field.type_ann, module)
      return {
        name: field.name,
        type: typeText(field.type_ann),
        kind,
        optional: nullable,
        has_default: field.code !== undefined
      }
    })
    return {
      name,
      stored_as: tableName(name),
      columns,
      summary: columns.map(column => `${column.name}: ${column.type}`).join(', ')
    }
  })
}

/** Describes the functions that no route calls: tools, resources and scheduled functions, then plain ones. */
export function describeFunctions({ program: { module }, endpoints }: ServedApp): Description['functions'] {
  const local = endpoints.filter(({ route, kind }) => route === null && kind !== 'due')
  const named = new Set(local.map(({ name }) => name))
  const plain = module.functions.filter(({ name }) => !named.has(name))
  return [
    ...local.map(({ kind, name, params, returns }) => signatureOf(name, kind, params, returns)),
    ...plain.map(({ name, params, return_type }) => signatureOf(name, 'function', params, return_type))
  ]
}

export function describeWorkflows({ program: { module } }: Pick<ServedApp, 'program'>): Description['workflows'] {
  return [
    ...module.workflows.map(({ name, params, return_type }) => signatureOf(name, 'workflow', params, return_type)),
    ...module.activities.map(({ name, params, return_type }) => signatureOf(name, 'activity', params, return_type))
  ]
}

function signatureOf(
  name: string,
  kind: string,
  params: readonly HirParam[],
  returns: HirType | null
): Description['functions'][number] {
  const list = params.map(param => `${param.name}: ${typeName(param.type_ann)}`).join(', ')
  return { name, kind, params: list, returns: typeName(returns) }
}
