import { basename, dirname, resolve } from 'node:path'
import {
  type HttpFallback,
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
import { documentFallback } from './documents.ts'
import type { Endpoint } from './endpoints.ts'
import type { Lookups } from './lookups.ts'
import type { ProgramPool } from './program-pool.ts'
import { programRoutes } from './program-routes.ts'
import { contributeTools } from './program-tools.ts'
import { JSON_TYPE } from './send-answer.ts'

/** Name of the listener of the program's routes. */
const LISTENER = 'app'

export interface SurfaceParts {
  readonly ctx: PluginContext<Settings>
  readonly program: Program
  readonly endpoints: readonly Endpoint[]
  readonly pool: ProgramPool
  /** null if the program has no lookup queries. */
  readonly lookups: Lookups | null
  readonly compiler: Pick<LanguageCompiler, 'describe'>
  readonly live: Pick<LiveService, 'routes' | 'upgrade' | 'watched'> | null
}

/** Contributes the public parts of a program: its routes, descriptions, static files and tools. */
export function contributeProgram({ ctx, program, endpoints, pool, lookups, compiler, live }: SurfaceParts): void {
  const file = basename(program.path)
  ctx.contribute(httpListeners, {
    name: LISTENER,
    host: '127.0.0.1',
    port: ctx.config.port,
    setting: 'plugins.app-runtime.port',
    errors: 'plain'
  })
  const plain = programRoutes(endpoints, pool, lookups)
  const own = live === null ? plain : plain.map(route => live.watched(route))
  const all = [...own, ...(live?.routes ?? []), ...descriptionRoutes(once(() => compiler.describe(program)))]
  // Declarations of the program have precedence over generated ones.
  const ownKeys = new Set(own.map(keyOf))
  const routes = [...own, ...all.slice(own.length).filter(route => !ownKeys.has(keyOf(route)))]
  const fallback = documents(ctx, program, routes)
  ctx.contribute(httpHandlers, { listener: LISTENER, routes, fallback }, `routes of ${file}`)
  if (live !== null) ctx.contribute(httpUpgrades, { listener: LISTENER, ...live.upgrade })
  contributeTools(ctx, program, pool)
}

function keyOf({ method, path }: HttpHandlerRoute): string {
  return `${method} ${path}`
}

/** Returns the routes of the OpenAPI description and the TypeScript client. */
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
  routes: readonly HttpHandlerRoute[]
): HttpFallback {
  const { ssr_dev_url: pages = null, public_directory } = config
  const folder = resolve(dirname(path), public_directory)
  // A program with components but without pages has probably not been built.
  const hint =
    components.length === 0 ? undefined : `svc build ${basename(path)} -o web --scaffold writes the source of its pages`
  return documentFallback({ folder, pages, log, routes, hint })
}
