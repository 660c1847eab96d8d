import type { EmittedFile } from '../emitted-file.ts'
import { type Endpoint, endpointsOf, isOptional, parameterList, responseTypeOf } from '../endpoints.ts'
import { header } from '../header.ts'
import { literal, pascalCase, propertyKey, valueName } from '../typescript-names.ts'
import { TypeImports } from '../typescript-types.ts'
import type { WebModule } from '../web-module.ts'

const QUERY_LIBRARY = '@tanstack/react-query'

const PROVIDER = `/** Provides data that hooks share, and refetches it after a change that may affect it. */
export function VoxQueryProvider({ client, children }: { readonly client: QueryClient; readonly children: ReactNode }) {
  useEffect(() => {
    const listener = () => void client.invalidateQueries({ queryKey: ['vox'] })
    $client.voxClient.onChange.add(listener)
    return () => void $client.voxClient.onChange.delete(listener)
  }, [client])
  return <QueryClientProvider client={client}>{children}</QueryClientProvider>
}
`

/** Generates `vox-tanstack-query.tsx` with a hook for each query and mutation; null if there are none. */
export function queryHooksFile(web: WebModule): EmittedFile | null {
  const endpoints = endpointsOf(web.hir).filter(({ kind }) => kind !== 'server')
  if (endpoints.length === 0) return null
  const imports = new TypeImports()
  for (const name of ['QueryClientProvider', 'QueryClient']) imports.value(QUERY_LIBRARY, name)
  imports.use('react', 'ReactNode')
  imports.value('react', 'useEffect')
  const names = hookNames(endpoints)
  const hooks = endpoints.map((endpoint, index) => {
    const name = names[index] as string
    return endpoint.kind === 'query'
      ? queryHook(web, endpoint, name, imports)
      : mutationHook(web, endpoint, name, imports)
  })
  return {
    path: 'vox-tanstack-query.tsx',
    text: [header(web.name), importsText(imports), PROVIDER, ...hooks].join('\n')
  }
}

/** Imports the client as a module object, since parameters may have the names of its functions. */
function importsText(imports: TypeImports): string {
  return [...imports.lines(), "import * as $client from './vox-client'", ''].join('\n')
}

function queryHook(web: WebModule, endpoint: Endpoint, hook: string, imports: TypeImports): string {
  const { name, params } = endpoint
  imports.value(QUERY_LIBRARY, 'useQuery')
  const values = params.map(param => valueName(param.name))
  const key = [literal('vox'), literal(name), ...values].join(', ')
  return `/** Returns the result of the query \`${name}\`, and refetches it after changes. */
export function ${hook}(${parameterList(web, params, imports)}) {
  return useQuery({ queryKey: [${key}], queryFn: () => $client.${valueName(name)}(${values.join(', ')}) })
}
`
}

function mutationHook(web: WebModule, endpoint: Endpoint, hook: string, imports: TypeImports): string {
  const { name, params } = endpoint
  imports.value(QUERY_LIBRARY, 'useMutation')
  const members = params.map(param => {
    const type = web.types.print(param.type_ann, imports)
    return `readonly ${propertyKey(param.name)}${isOptional(param) ? '?' : ''}: ${type}${isOptional(param) && type !== 'any' ? ' | undefined' : ''}`
  })
  const type = web.types.result(responseTypeOf(endpoint), imports)
  const input = params.length === 0 ? 'void' : `{ ${members.join('; ')} }`
  const parameter = params.length === 0 ? '()' : 'input'
  const args = params.map(param => `input.${param.name}`)
  return `/** Calls the mutation \`${name}\`. */
export function ${hook}() {
  return useMutation<${type}, $client.ApiError, ${input}>({ mutationFn: ${parameter} => $client.${valueName(name)}(${args.join(', ')}) })
}
`
}

/** Returns a hook name such as `useOpenTasks` for each endpoint; if two are equal, names such as `use_open_tasks`. */
function hookNames(endpoints: readonly Endpoint[]): string[] {
  const names = endpoints.map(({ name }) => `use${pascalCase(name)}`)
  return names.map((name, index) => {
    const isOnly = names.filter(other => other === name).length === 1
    return isOnly ? name : `use_${(endpoints[index] as Endpoint).name}`
  })
}
