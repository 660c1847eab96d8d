import { monitorEventLoopDelay } from 'node:perf_hooks'
import {
  type FinishedRequest,
  httpServer,
  isLoopback,
  kernelAdmin,
  kernelPort,
  observabilitySink,
  observabilitySpans,
  requestFinished,
  surfaces
} from '@svc/contracts'
import { definePlugin, ref } from '@svc/plugin-sdk'
import type { Registry } from 'prom-client'
import { AccessLog } from './access-log.ts'
import { docsRoutes } from './builtin/docs.ts'
import { httpErrors } from './errors.ts'
import { beat, type Heartbeat, newHeartbeat } from './event-stream.ts'
import { drain, openServer } from './listener.ts'
import { operationServer } from './operations.ts'
import { newRequestCounts } from './request-metrics.ts'
import { settings } from './settings.ts'
import { HttpSurface } from './surface.ts'

/** Folder of the page, next to `src` and `dist`, so that source and bundle find it at the same relative path. */
const PAGE = new URL('../page/', import.meta.url)

export default definePlugin({
  name: 'http',
  summary: 'Serves operations and routes of every plugin over HTTP',
  // If the port cannot be bound, the process stops with an error that names the process that uses it.
  onBootFailure: 'abort',
  config: settings,
  requires: { kernel: kernelPort },
  optional: { sink: ref(observabilitySink), spans: ref(observabilitySpans), admin: kernelAdmin },
  serves: true,
  provides: [httpServer],
  hooks: [requestFinished],
  async activate(ctx, { kernel, sink, spans, admin }) {
    const { config, log } = ctx
    if (config.local_access === 'token' && config.token === undefined) {
      throw httpErrors.create(
        'HTTP_TOKEN_MISSING',
        'plugins.http.local_access is "token", but plugins.http.token is not set, so every request would be refused',
        { at: { path: 'plugins.http.token' }, hint: 'set token in [plugins.http], or set local_access = "open"' }
      )
    }
    if (config.main && config.token === undefined && !isLoopback(config.host)) {
      log.warn(`HTTP on ${config.host}:${config.port} accepts every caller that can reach it`, {
        hint: 'set token in [plugins.http], or bind 127.0.0.1'
      })
    }
    const loop = monitorEventLoopDelay({ resolution: 20 })
    loop.enable()
    ctx.effect('event loop delay', () => void loop.disable())
    const counts = await ctx.keep('request counts', newRequestCounts, () => {})
    let registry: Promise<Registry> | undefined
    const openRegistry = (): Promise<Registry> =>
      (registry ??= import('./metrics-registry.ts').then(module => module.metricsRegistry(loop, counts)))
    // Streams outlive a reload of this plugin; the timer of the new instance keeps them open.
    const heartbeat: Heartbeat = await ctx.keep('event streams', newHeartbeat, () => {})
    const timer = setInterval(beat, config.heartbeat_ms, heartbeat).unref()
    ctx.effect('heartbeat', () => clearInterval(timer))
    const operations = operationServer({
      bodyLimit: config.body_limit_bytes,
      heartbeat,
      report: log.error.bind(log)
    })
    const servers = new Map<string, ReturnType<typeof openServer>>()
    const notify = (request: FinishedRequest): void => void ctx.trigger(requestFinished, request).catch(() => {})
    const surface = new HttpSurface({
      finished: () => (ctx.isTapped(requestFinished) ? notify : null),
      name: ctx.name,
      version: kernel.version,
      settings: config,
      log,
      access: new AccessLog({ settings: config, log, sink }),
      spans: () => spans?.available,
      operations,
      docs: await docsRoutes(PAGE),
      registry: openRegistry,
      admin,
      counts,
      async hold(key) {
        const held = servers.get(key) ?? (await ctx.keep(key, openServer, value => drain(value, config.drain_ms)))
        servers.set(key, held)
        return held
      }
    })
    ctx.effect('raw routes', () => surface.retire())
    ctx.contribute(surfaces, surface, 'routes and listeners')
    ctx.provide(httpServer, surface)
    ctx.health('listeners', () => surface.health())
  }
})
