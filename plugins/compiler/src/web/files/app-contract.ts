import { type HirParam, type HirType, pathParameters } from '@svc/contracts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { TypeImports } from '../../typescript/types.ts'
import type { ClientRoutes } from '../client-routes.ts'
import { isOptional } from '../endpoints.ts'
import { viewsOf, type WebModule } from '../web-module.ts'
import { routeJson } from './routes-manifest.ts'

/** Generates `vox-app-contract.json`: what other programs need in order to serve, proxy or call the program. */
export function appContractFile(web: WebModule, routes: ClientRoutes | null): EmittedFile {
  const { hir, pages } = web
  const type = (each: HirType | null): string => web.types.print(each, new TypeImports())
  const params = (list: readonly HirParam[]): object[] =>
    list.map(param => ({ name: param.name, type: type(param.type_ann), required: !isOptional(param) }))
  const rpc = ({ name, route_path, params: list, return_type }: (typeof hir.query_fns)[number]): object => ({
    name,
    route_path,
    params: params(list),
    return_type: type(return_type)
  })
  const document = {
    schema_version: 2,
    name: web.name,
    http_routes: hir.routes.map(({ method, path, params: list = [], return_type }) => ({
      method: method.toUpperCase(),
      path,
      path_params: pathParameters(path),
      params: params(list),
      return_type: type(return_type)
    })),
    server_fns: hir.server_fns.map(fn => ({ ...rpc(fn), method: 'POST' })),
    query_fns: hir.query_fns.map(fn => ({ ...rpc(fn), method: 'GET' })),
    mutation_fns: hir.mutation_fns.map(fn => ({
      ...rpc(fn),
      method: 'POST',
      wraps_db_transaction: hir.tables.length > 0
    })),
    client_routes: {
      routes: (routes?.routes ?? []).map(routeJson),
      not_found: routes?.notFound?.component ?? null,
      error: routes?.error?.component ?? null
    },
    islands: viewsOf(pages, 'Island').map(({ name, properties }) => ({
      name: name.name,
      props: properties.map(prop => ({ name: prop.name, required: !prop.isOptional }))
    })),
    mcp_tools: hir.mcp_tools.map(({ description, func }) => ({
      name: func.name,
      description,
      params: params(func.params)
    })),
    mcp_resources: hir.mcp_resources.map(({ uri, description, func }) => ({ uri, description, name: func.name })),
    server_config: {
      bind_host: '127.0.0.1',
      default_port: 3000,
      port_env_var: 'SVC_PORT',
      dev_proxy_env_var: 'SVC_SSR_DEV_URL',
      static_assets_embed_dir: 'public/'
    }
  }
  return { path: 'vox-app-contract.json', text: `${JSON.stringify(document, null, 2)}\n` }
}
