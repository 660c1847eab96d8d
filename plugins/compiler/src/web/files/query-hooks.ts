import { type HirParam, isPlainType } from '@svc/contracts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { literal, pascalCase, valueName } from '../../typescript/names.ts'
import { TypeImports } from '../../typescript/types.ts'
import {
  argumentObject,
  argumentsType,
  type Endpoint,
  endpointsOf,
  inputType,
  isInt,
  parameterList,
  responseTypeOf
} from '../endpoints.ts'
import type { WebModule } from '../web-module.ts'

const QUERY_LIBRARY = '@tanstack/react-query'

const PROVIDER = `/** Provides data that hooks share, and refetches it after a change that may affect it. */
export function VoxQueryProvider({ client, children }: { readonly client: QueryClient; readonly children: ReactNode }) {
  useEffect(() => {
    const listener = (isOtherCaller = false) => {
      if (isOtherCaller) void client.resetQueries({ queryKey: ['vox'] })
      else void client.invalidateQueries({ queryKey: ['vox'] })
    }
    $client.voxClient.onChange.add(listener)
    return () => void $client.voxClient.onChange.delete(listener)
  }, [client])
  return <QueryClientProvider client={client}>{children}</QueryClientProvider>
}
`

/** Like {@link PROVIDER}, for a program with live queries. */
const LIVE_PROVIDER = `/** Provides data that hooks share, and refetches it after a change that may affect it. The server sends live data itself. */
export function VoxQueryProvider({ client, children }: { readonly client: QueryClient; readonly children: ReactNode }) {
  useEffect(() => {
    const isFollowed = (hash: string) => [...$followed].some(each => each.hash === hash)
    const listener = (isOtherCaller = false) => {
      if (isOtherCaller) void client.resetQueries({ queryKey: ['vox'] })
      else void client.invalidateQueries({ queryKey: ['vox'], predicate: ({ queryHash }) => !isFollowed(queryHash) })
    }
    $client.voxClient.onChange.add(listener)
    return () => void $client.voxClient.onChange.delete(listener)
  }, [client])
  return <QueryClientProvider client={client}>{children}</QueryClientProvider>
}

/** Queries whose values the server sends at present. */
const $followed = new Set<{ readonly hash: string }>()

/** Writes the later values of a live query to the cache, once its first one is loaded. */
function $useLive(
  queryKey: readonly unknown[],
  isLoaded: boolean,
  follow: (onValue: (value: unknown) => void, onError: (error: $client.ApiError) => void) => () => void
): void {
  const client = useQueryClient()
  const hash = hashKey(queryKey)
  useEffect(() => {
    if (!isLoaded) return
    const own = { hash }
    const end = follow(
      value => {
        $followed.add(own)
        client.setQueryData(queryKey, value)
      },
      error => {
        const wasFollowed = $followed.delete(own)
        if (wasFollowed && (error.status === 401 || error.status === 403)) void client.resetQueries({ queryKey, exact: true })
        else if (error.status !== 0) void client.invalidateQueries({ queryKey })
      }
    )
    return () => {
      $followed.delete(own)
      end()
    }
  }, [client, hash, isLoaded])
}
`

const KEY = `/** Returns an argument as a part of a query key, which cannot contain a bigint. */
function $key(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null, (_name, each: unknown) => (typeof each === 'bigint' ? String(each) : each)))
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
  const isLive = endpoints.some(({ kind, name }) => kind === 'query' && web.live.has(name))
  if (isLive) for (const name of ['hashKey', 'useQueryClient']) imports.value(QUERY_LIBRARY, name)
  const key = hooks.some(text => text.includes('$key(')) ? [KEY] : []
  return {
    path: 'vox-tanstack-query.tsx',
    text: [header(web.name), importsText(imports), isLive ? LIVE_PROVIDER : PROVIDER, ...key, ...hooks].join('\n')
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
  const parts = params.map(param => (isScalar(param) ? valueName(param.name) : `$key(${valueName(param.name)})`))
  const key = [literal('vox'), literal(name), ...parts].join(', ')
  const head = `export function ${hook}(${parameterList(web, params, imports, param => inputType(web, param, imports))}) {`
  const call = `$client.${valueName(name)}`
  const load = `queryFn: () => ${call}(${values.join(', ')})`
  if (!web.live.has(name))
    return `/** Returns the result of the query \`${name}\`, and refetches it after changes. */
${head}
  return useQuery({ queryKey: [${key}], ${load} })
}
`
  const args = argumentObject(params)
  return `/** Returns the result of the query \`${name}\`, and each later one that the server sends. */
${head}
  const $queryKey = [${key}]
  const $found = useQuery({ queryKey: $queryKey, ${load}, staleTime: Infinity })
  $useLive($queryKey, $found.data !== undefined, ($value, $error) => ${call}.live(${args}, $value, $error))
  return $found
}
`
}

/** True for types whose values a query key contains as they are. */
function isScalar({ type_ann }: HirParam): boolean {
  return type_ann === 'Decimal' || (isPlainType(type_ann) && !isInt(type_ann))
}

function mutationHook(web: WebModule, endpoint: Endpoint, hook: string, imports: TypeImports): string {
  const { name, params } = endpoint
  imports.value(QUERY_LIBRARY, 'useMutation')
  const type = web.types.result(responseTypeOf(endpoint, web), imports)
  const input = params.length === 0 ? 'void' : argumentsType(web, params, imports)
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
