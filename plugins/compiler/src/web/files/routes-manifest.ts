import { type AuthRule, type Hir, httpEndpointsOf } from '@svc/contracts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { literal, propertyKey, valueName } from '../../typescript/names.ts'
import { TypeImports } from '../../typescript/types.ts'
import { ANY, isNamed, itemOf } from '../../typescript/value-types.ts'
import type {
  ClientRoute,
  ClientRoutes,
  LoaderParam,
  RouteFallback,
  RouteLoader,
  RouteProperty
} from '../client-routes.ts'
import { componentModule, type WebModule } from '../web-module.ts'

const TYPES = `/** Path and query parameters, by name. */
export type RouteParams = Readonly<Record<string, string | undefined>>

export interface VoxRoute {
  /** Path from the root; \`:id\` is a parameter. */
  readonly path: string
  /** Name of the component. */
  readonly component: string
  readonly loader: ((params: RouteParams) => Promise<unknown>) | null
  /** Renders the page with the loader's result. */
  readonly render: (params: RouteParams, data: unknown) => ReactNode
  /** Shown while the loader runs. */
  readonly pending: (() => ReactNode) | null
  readonly error: ((message: string) => ReactNode) | null
  readonly children: readonly VoxRoute[]
}
`

const GUARDED = `/** Loads a page that its guard admits. Without an identity, the browser opens the page that the guard names. */
async function $guarded(page: string, redirect: string | null, load: () => Promise<unknown>): Promise<unknown> {
  try {
    await $client.$admitted(page)
  } catch (error) {
    const isAnonymous = error instanceof $client.ApiError && error.status === 401
    const { location } = globalThis
    if (!isAnonymous || redirect === null || location === undefined) throw error
    location.assign(\`\${redirect}\${redirect.includes('?') ? '&' : '?'}next=\${encodeURIComponent(location.pathname + location.search)}\`)
    return await new Promise(() => undefined)
  }
  return await load()
}
`

const FOLLOWED = `/**
 * Shows the values of a live query, of which \`data\` is the first. While it is not connected, newer data counts. When the
 * caller is no longer admitted, nothing is shown until the data is loaded again.
 */
function $Followed({ id, data, follow, show }: {
  readonly id: string
  readonly data: unknown
  readonly follow: (onValue: (value: unknown) => void, onError: (error: $client.ApiError) => void) => () => void
  readonly show: (data: unknown) => ReactNode
}): ReactNode {
  const [newest, setNewest] = useState<{ readonly id: string; readonly value: unknown; readonly lostAt: unknown } | null>(null)
  const loaded = useRef(data)
  loaded.current = data
  useEffect(
    () =>
      follow(
        value => setNewest({ id, value, lostAt: $CONNECTED }),
        ({ status }) => {
          const isRefused = status === 401 || status === 403
          const lostAt = loaded.current
          setNewest(previous => {
            if (previous === null || previous.value === $REFUSED) return previous
            return isRefused ? { id, value: $REFUSED, lostAt } : { ...previous, lostAt }
          })
        }
      ),
    [id]
  )
  const isNewest = newest !== null && newest.id === id && (newest.lostAt === $CONNECTED || newest.lostAt === data)
  if (isNewest && newest.value === $REFUSED) return null
  return show(isNewest ? newest.value : data)
}

const $REFUSED = Symbol('refused')
const $CONNECTED = Symbol('connected')
`

/** Generates `routes.manifest.ts`: the pages with their components, loaders and fallbacks. */
export function routesManifestFile(web: WebModule, found: ClientRoutes): EmittedFile {
  const printer = new ManifestPrinter(web)
  const routes = found.routes.map(route => `${printer.route(route, '  ')}\n`).join('')
  const body = [
    `export const routes: readonly VoxRoute[] = [\n${routes.replace(/,?\n$/, '\n')}]\n`,
    `export const notFound: (() => ReactNode) | null = ${printer.fallback(found.notFound, '')}\n`,
    `export const error: ((message: string) => ReactNode) | null = ${printer.fallback(found.error, 'message')}\n`
  ]
  // Imported as an object, since a query may have the name of an export of this module.
  const client = body.some(text => text.includes('$client.')) ? ["import * as $client from './vox-client'"] : []
  const followed = body.some(text => text.includes('$Followed')) ? [FOLLOWED] : []
  const guarded = body.some(text => text.includes('$guarded(')) ? [GUARDED] : []
  if (followed.length > 0) for (const name of ['useEffect', 'useRef', 'useState']) printer.imports.value('react', name)
  const imports = `${[...printer.imports.lines(), ...client].join('\n')}\n`
  return {
    path: 'routes.manifest.ts',
    text: [header(web.name), imports, TYPES, ...body, ...followed, ...guarded].join('\n')
  }
}

/** Generates `routes.manifest.json`: the pages, for other programs. */
export function routesJsonFile(found: ClientRoutes | null): EmittedFile {
  const document = {
    schema_version: 1,
    routes: (found?.routes ?? []).map(routeJson),
    not_found: found?.notFound?.component ?? null,
    error: found?.error?.component ?? null
  }
  return { path: 'routes.manifest.json', text: `${JSON.stringify(document, null, 2)}\n` }
}

export function routeJson(route: ClientRoute): object {
  const { path, component, loader, pending, error, children } = route
  return {
    path,
    component,
    loader: loader?.query ?? null,
    pending,
    error: error?.component ?? null,
    children: children.map(routeJson)
  }
}

class ManifestPrinter {
  readonly imports = new TypeImports()

  readonly #pages: WebModule['pages']
  readonly #live: ReadonlySet<string>
  readonly #hasClient: boolean
  readonly #guards: WebModule['guards']

  constructor({ pages, live, hir, guards }: WebModule) {
    this.#guards = guards
    this.#pages = pages
    this.#live = live
    this.#hasClient = httpEndpointsOf(hir).length > 0
    this.imports.use('react', 'ReactNode')
  }

  route(route: ClientRoute, indent: string): string {
    const { path, component, loader, pending, error, children } = route
    const fromPath = route.properties.some(({ from }) => from === 'param')
    const fromData = route.properties.some(({ from }) => from === 'data')
    const isFollowed = fromData && loader !== null && this.#live.has(loader.query)
    const takesPath = fromPath || isFollowed
    const parameters = fromData ? '(params, data)' : fromPath ? '(params)' : '()'
    const element = isFollowed ? this.#followed(route, loader) : this.#element(route)
    const lines = [
      `path: ${literal(path)}`,
      `component: ${literal(component)}`,
      `loader: ${this.#loader(route)}`,
      `render: ${takesPath ? parameters : parameters.replace('params', '_params')} => ${element}`,
      `pending: ${this.fallback(pending === null ? null : { component: pending, property: null }, '')}`,
      `error: ${this.fallback(error, 'message')}`,
      `children: [${
        children.length === 0
          ? ''
          : `\n${children
              .map(each => this.route(each, `${indent}    `))
              .join('\n')
              .replace(/,$/, '')}\n${indent}  `
      }]`
    ]
    return `${indent}{\n${lines.map(line => `${indent}  ${line}`).join(',\n')}\n${indent}},`
  }

  /** Returns the guard of a page that needs an identity; null for an open page. */
  #guardOf(component: string): AuthRule | null {
    const auth = this.#guards.find(({ kind, name }) => kind === 'page' && name === component)?.auth ?? null
    return auth?.isOptional === false ? auth : null
  }

  /** Returns the loader of a page, which asks its guard first. */
  #loader({ component, loader }: ClientRoute): string {
    const guard = this.#hasClient ? this.#guardOf(component) : null
    const parameters = loader?.params.length ? '(params)' : '()'
    const call = loader === null ? null : `$client.${valueName(loader.query)}(${this.#args(loader.params)})`
    if (guard === null) return call === null ? 'null' : `${parameters} => ${call}`
    const redirect = guard.redirect === null ? 'null' : literal(guard.redirect)
    return `${parameters} => $guarded(${literal(component)}, ${redirect}, async () => ${call ?? 'null'})`
  }

  fallback(fallback: RouteFallback | null, message: string): string {
    if (fallback === null) return 'null'
    const { component, property } = fallback
    const takesMessage = message !== '' && property !== null
    const props = takesMessage ? `, { ${propertyKey(property)}: ${message} }` : ''
    return `${takesMessage ? `${message} => ` : '() => '}${this.#create(component, props)}`
  }

  /** Shows a page with the values of its live loader. */
  #followed(route: ClientRoute, { query, params }: RouteLoader): string {
    const args = params.map(param => `${propertyKey(param.name)}: ${this.#arg(param)}`)
    const live = `$client.${valueName(query)}.live(${args.length === 0 ? '{}' : `{ ${args.join(', ')} }`}, onValue, onError)`
    const follow = `follow: (onValue, onError) => ${live}`
    return `createElement($Followed, { id: JSON.stringify(params), data, ${follow}, show: data => ${this.#element(route)} })`
  }

  #element({ component, properties, loader }: ClientRoute): string {
    const entries = properties.map(property => {
      const { name, from } = property
      if (from === 'param') return this.#textProperty(property)
      const query = `$client.${valueName(loader?.query ?? '')}`
      return `${propertyKey(name)}: data as Awaited<ReturnType<typeof ${query}>>`
    })
    return this.#create(component, entries.length === 0 ? '' : `, { ${entries.join(', ')} }`)
  }

  #create(component: string, props: string): string {
    this.imports.value('react', 'createElement')
    const module = componentModule(this.#pages, component) ?? `./${component}`
    return `createElement(${this.imports.value(module, component)}${props})`
  }

  #textProperty({ name, type, isOptional: canBeMissing }: RouteProperty): string {
    const text = `params[${literal(name)}]`
    if (!canBeMissing) return `${propertyKey(name)}: ${this.#fromText(type, text)}`
    return `...(${text} === undefined ? {} : { ${propertyKey(name)}: ${this.#fromText(type, text)} })`
  }

  #args(params: readonly LoaderParam[]): string {
    return params.map(param => this.#arg(param)).join(', ')
  }

  #arg({ name, type, isOptional }: LoaderParam): string {
    const text = `params[${literal(name)}]`
    if (!isOptional && !isNamed(type, 'Option')) return this.#fromText(type, text)
    return `${text} === undefined ? ${isOptional ? 'undefined' : 'null'} : ${this.#fromText(type, text)}`
  }

  #fromText(type: Hir.Type | null, text: string): string {
    return fromText(type, text, this.#hasClient ? '$client.$int' : 'Number')
  }
}

/** Returns code that converts a path or query parameter, a string, to a value of the type. `toInt` reads an int. */
export function fromText(type: Hir.Type | null, text: string, toInt = 'Number'): string {
  const value = type === null ? ANY : isNamed(type, 'Option') ? itemOf(type) : type
  if (isNamed(value, 'int')) return `${toInt}(${text})`
  if (isNamed(value, 'float')) return `Number(${text})`
  if (isNamed(value, 'bool')) return `${text} === 'true'`
  return `${text} ?? ''`
}
