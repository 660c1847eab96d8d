import { basename, dirname, resolve } from 'node:path'
import {
  type HttpExchange,
  type HttpFallback,
  type HttpHandlerRoute,
  type HttpServer,
  httpHandlers,
  httpListeners,
  httpUpgrades,
  type KernelAdmin,
  type LanguageCompiler,
  type PageBundler,
  type Program,
  type ProgramDescription
} from '@svc/contracts'
import type { PluginContext, Ref } from '@svc/plugin-sdk'
import type { Activity } from '../apps/activity.ts'
import { CALLS_TOPIC, type CallLog } from '../apps/call-log.ts'
import { appName } from '../apps/served-apps.ts'
import type { Guards } from '../auth/guard.ts'
import type { OpenUsers } from '../auth/open-users.ts'
import type { LiveService } from '../live/live-service.ts'
import type { DevChannel } from '../pages/dev-channel.ts'
import { devScript } from '../pages/html.ts'
import { pageFilesRoute } from '../pages/page-routes.ts'
import { pageShell } from '../pages/page-shell.ts'
import { hasOwnPages, type PreparedPages } from '../pages/prepare-pages.ts'
import { routeList } from '../pages/route-list.ts'
import type { Settings } from '../settings.ts'
import type { ProgramFiles } from '../storage/serve-files.ts'
import { APP_LISTENER, consoleUrl } from './addresses.ts'
import { documentFallback } from './documents.ts'
import type { Endpoint } from './endpoints.ts'
import type { Lookups } from './lookups.ts'
import type { ProgramPool } from './program-pool.ts'
import { type OnCall, type OnEnd, programRoutes } from './program-routes.ts'
import { contributeTools } from './program-tools.ts'
import { JSON_TYPE } from './send-answer.ts'
import { VITE_URL } from './vite.ts'

export interface SurfaceParts {
  readonly ctx: PluginContext<Settings>
  readonly program: Program
  readonly endpoints: readonly Endpoint[]
  readonly pool: ProgramPool
  readonly guards: Guards
  /** null if the program has no users. */
  readonly users: Pick<OpenUsers, 'routes'> | null
  /** null if the program has no lookup queries. */
  readonly lookups: Lookups | null
  readonly compiler: Pick<LanguageCompiler, 'describe'>
  readonly live: Pick<LiveService, 'routes' | 'upgrade' | 'watched'> | null
  /** Files that the program stores; null if it stores none. */
  readonly files: Pick<ProgramFiles, 'uploads' | 'routes'> | null
  readonly pages: PreparedPages
  /** Connection to open pages; null outside development. */
  readonly channel: DevChannel | null
  readonly bundler: PageBundler | undefined
  readonly http: Ref<HttpServer> | undefined
  readonly admin: KernelAdmin | undefined
  /** Receives each call of a route. */
  readonly calls: CallLog
  /** Receives the times and statements of lookups. */
  readonly onEnd: OnEnd
  /** Shows what the program does; null outside development. */
  readonly activity: Activity | null
}

/** Contributes the public parts of a program: its routes, descriptions, pages, static files and tools. */
export function contributeProgram(parts: SurfaceParts): void {
  const { ctx, program, endpoints, pool, guards, lookups, compiler, live, pages, channel, bundler, activity } = parts
  const file = basename(program.path)
  ctx.contribute(httpListeners, {
    name: APP_LISTENER,
    host: '127.0.0.1',
    port: ctx.config.port,
    setting: 'plugins.app-runtime.port',
    errors: 'plain',
    apiPage: ctx.config.dev
  })
  const app = appName(file)
  const onCall = (call: Parameters<OnCall>[0]): void => {
    parts.calls.record(call)
    ctx.changed(CALLS_TOPIC)
    activity?.request(call)
  }
  const plain = programRoutes({
    app,
    endpoints,
    pool,
    guards,
    lookups,
    onCall,
    onEnd: parts.onEnd,
    showsCalls: activity !== null,
    uploads: parts.files?.uploads ?? null,
    folder: resolve(dirname(program.path), ctx.config.public_directory)
  })
  const own = live === null ? plain : plain.map(route => live.watched(route))
  const described = [
    ...guards.pages.routes,
    ...(live?.routes ?? []),
    ...(parts.files?.routes ?? []),
    ...(parts.users?.routes ?? []),
    ...descriptionRoutes(once(() => compiler.describe(program)))
  ]
  const files = bundler === undefined ? [] : [pageFilesRoute(bundler, pages.bundle)]
  // Declarations of the program have precedence over generated ones.
  const ownKeys = new Set(own.map(keyOf))
  const generated = described.filter(route => !ownKeys.has(keyOf(route)))
  const shown = activity === null ? generated : generated.map(route => shownRoute(route, activity))
  const answers = [...own, ...shown].map(route => (channel === null ? route : markedStale(route, channel)))
  const routes = [...answers, ...files.filter(route => !ownKeys.has(keyOf(route)))]
  const pagesOf = guardedDocuments(guards, documents(parts, answers, generated))
  const fallback = activity === null ? pagesOf : shownFallback(pagesOf, activity)
  ctx.contribute(httpHandlers, { listener: APP_LISTENER, routes, fallback }, `routes of ${file}`)
  if (live !== null) ctx.contribute(httpUpgrades, { listener: APP_LISTENER, ...live.upgrade })
  if (channel !== null) {
    const handle = channel.connect.bind(channel)
    ctx.contribute(httpUpgrades, { listener: APP_LISTENER, path: '/@svc/dev', handle })
  }
  contributeTools(ctx, program, pool, guards)
}

/** Marks the answers of a version that is older than the file. */
function markedStale(route: HttpHandlerRoute, channel: DevChannel): HttpHandlerRoute {
  return {
    ...route,
    handle(exchange) {
      if (channel.isStale) exchange.response.setHeader('x-svc-stale', '1')
      route.handle(exchange)
    }
  }
}

/** Shows the requests of a route that no function of the program handles. */
function shownRoute(route: HttpHandlerRoute, activity: Activity): HttpHandlerRoute {
  return {
    ...route,
    handle(exchange) {
      showAnswer(exchange, route.path, activity)
      route.handle(exchange)
    }
  }
}

function shownFallback({ handle }: HttpFallback, activity: Activity): HttpFallback {
  return {
    handle(exchange, allowed) {
      showAnswer(exchange, (exchange.request.url ?? '/').split('?', 1)[0] ?? '/', activity)
      handle(exchange, allowed)
    }
  }
}

function showAnswer({ request, response, caller }: HttpExchange, path: string, activity: Activity): void {
  const started = performance.now()
  response.once('close', () => {
    activity.request({
      method: request.method ?? 'GET',
      path,
      name: null,
      status: response.statusCode,
      ms: performance.now() - started,
      request_id: caller.requestId
    })
  })
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

/** Checks the guards of pages before their documents are sent. */
function guardedDocuments({ pages }: Guards, fallback: HttpFallback): HttpFallback {
  return {
    handle(exchange, allowed) {
      const { url = '/', method = 'GET' } = exchange.request
      const next = (): void => fallback.handle(exchange, allowed)
      if (method === 'GET' || method === 'HEAD') pages.admit(exchange, url.split('?', 1)[0] ?? '/', next)
      else next()
    }
  }
}

function documents(
  { ctx, program, pages, channel, http, admin }: SurfaceParts,
  routes: readonly HttpHandlerRoute[],
  generated: readonly HttpHandlerRoute[]
): HttpFallback {
  const { path, components } = program
  const { ssr_dev_url, public_directory, orchestrate_vite, dev } = ctx.config
  const { title, bundle, build } = pages
  const folder = resolve(dirname(path), public_directory)
  const hasVite = dev && orchestrate_vite && ssr_dev_url === undefined
  const devBuild = channel === null ? null : build
  const document = bundle === null ? null : pageShell({ title, bundle, devBuild })
  return documentFallback({
    folder,
    pages: ssr_dev_url ?? (hasVite ? VITE_URL : null),
    forwardsFiles: hasVite,
    log: ctx.log,
    routes,
    element: devBuild === null ? null : devScript(devBuild),
    shell(requested) {
      if (document !== null || devBuild === null || requested !== '/' || hasOwnPages(program, ctx.config))
        return document
      if (components.length > 0) return pageShell({ title: basename(path), bundle, devBuild })
      return routeList({ program, others: generated, devBuild, consoleUrl: consoleUrl(admin, http) })
    },
    // A program with components but without pages has probably not been built.
    hint:
      components.length === 0 || bundle !== null
        ? undefined
        : `svc build ${basename(path)} -o web --scaffold writes the source of its pages`
  })
}
