import { basename, dirname, resolve } from 'node:path'
import {
  type HttpHandlerRoute,
  httpHandlers,
  httpListeners,
  httpUpgrades,
  type LanguageCompiler,
  type Program,
  type ProgramDescription
} from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import type { LiveService } from '../live/live-service.ts'
import type { Settings } from '../settings.ts'
import { documentRoute } from './documents.ts'
import type { Endpoint } from './endpoints.ts'
import type { Lookups } from './lookups.ts'
import type { ProgramPool } from './program-pool.ts'
import { JSON_TYPE, programRoutes } from './program-routes.ts'
import { contributeTools } from './program-tools.ts'

/** The listener of the program's routes. */
const LISTENER = 'app'

export interface SurfaceParts {
  readonly ctx: PluginContext<Settings>
  readonly program: Program
  readonly endpoints: readonly Endpoint[]
  readonly pool: ProgramPool
  /** null where no query is plain enough. */
  readonly lookups: Lookups | null
  readonly compiler: Pick<LanguageCompiler, 'describe'>
  readonly live: Pick<LiveService, 'routes' | 'upgrade' | 'watched'> | null
}

/** Contributes all that others see of a program: its listener with its routes, descriptions and files, and its tools. */
export function contributeProgram({ ctx, program, endpoints, pool, lookups, compiler, live }: SurfaceParts): void {
  const file = basename(program.path)
  ctx.contribute(httpListeners, {
    name: LISTENER,
    host: '127.0.0.1',
    port: ctx.config.port,
    setting: 'plugins.app-runtime.port'
  })
  const plain = programRoutes(endpoints, pool, lookups)
  const own = live === null ? plain : plain.map(route => live.watched(route))
  const all = [
    ...own,
    ...(live?.routes ?? []),
    ...descriptionRoutes(once(() => compiler.describe(program))),
    documents(ctx, program, endpoints)
  ]
  // What the program declares itself has precedence over what is made for it.
  const taken = new Set(own.map(keyOf))
  const routes = [...own, ...all.slice(own.length).filter(route => !taken.has(keyOf(route)))]
  ctx.contribute(httpHandlers, { listener: LISTENER, routes }, `routes of ${file}`)
  if (live !== null) ctx.contribute(httpUpgrades, { listener: LISTENER, ...live.upgrade })
  contributeTools(ctx, program, pool)
}

function keyOf({ method, path }: HttpHandlerRoute): string {
  return `${method} ${path}`
}

/** What the program is, for tools and people. */
function descriptionRoutes(described: () => ProgramDescription): HttpHandlerRoute[] {
  return [
    {
      method: 'GET',
      path: '/openapi.json',
      summary: 'The OpenAPI description of the program',
      handle: exchange => exchange.send(200, JSON_TYPE, described().openApi)
    },
    {
      method: 'GET',
      path: '/api/client.ts',
      summary: 'A client of the program in TypeScript',
      handle: exchange => exchange.send(200, 'text/plain; charset=utf-8', described().client)
    }
  ]
}

function once<A>(make: () => A): () => A {
  let made: { readonly value: A } | null = null
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

function documents(
  { config, log }: SurfaceParts['ctx'],
  { path, components }: Program,
  endpoints: readonly Endpoint[]
): HttpHandlerRoute {
  const { ssr_dev_url: pages = null, public_directory } = config
  const folder = resolve(dirname(path), public_directory)
  const others = endpoints.flatMap(({ route }) => (route === null || route.method === 'GET' ? [] : [route]))
  const patterns = others.map(route => ({ ...route, pattern: patternOf(route.path) }))
  const methodsOf = (asked: string): string[] => [
    ...new Set(patterns.filter(({ pattern }) => pattern.test(asked)).map(({ method }) => method))
  ]
  // Whoever has written pages and sees none has not built them, most likely.
  const hint =
    components.length === 0 ? undefined : `svc build ${basename(path)} -o web --scaffold writes what makes its pages`
  return documentRoute({ folder, pages, log, methodsOf, hint })
}

/** Of the paths that `/tasks/:id` means. */
function patternOf(path: string): RegExp {
  const parts = path.split('/').map(part => (part.startsWith(':') ? '[^/]+' : part.replace(/[^\w-]/g, '\\$&')))
  return new RegExp(`^${parts.join('/')}$`)
}
