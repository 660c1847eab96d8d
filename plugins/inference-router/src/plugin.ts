import {
  httpHandlers,
  httpListeners,
  httpServer,
  inferenceRouter,
  inferenceServers,
  isLoopback,
  metricsText,
  ownModelServer
} from '@svc/contracts'
import { definePlugin, ref } from '@svc/plugin-sdk'
import { configuredServers, PoolFeed } from './configured-servers.ts'
import { contributeConsole } from './console.ts'
import { Guard } from './guard.ts'
import { Placer } from './placement.ts'
import { PrefixIndex } from './prefix-index.ts'
import { Prober } from './prober.ts'
import { Relay } from './relay.ts'
import { RoutedPass, reaches } from './routed-pass.ts'
import { routerHealth } from './router-health.ts'
import { RouterMetrics } from './router-metrics.ts'
import { routerRoutes } from './routes.ts'
import { ServerPool } from './server-pool.ts'
import { modelServers, SERVERS_TOPIC, showServers } from './servers-operation.ts'
import { type Settings, settings } from './settings.ts'

const LISTENER = 'inference-router'
/** Age from which facts are old, in intervals between two questions. */
const STALE_INTERVALS = 5

export default definePlugin({
  name: 'inference-router',
  summary: 'Routes model requests over several servers, by model, load and prompt prefix',
  enabledByDefault: false,
  // This plugin drains before http, which carries its requests.
  after: ['http'],
  optional: { http: ref(httpServer), own: ref(ownModelServer) },
  provides: [inferenceRouter],
  points: [inferenceServers],
  operations: [modelServers],
  config: settings,
  async activate(ctx, { http, own }) {
    const { host, port, api_key, probe_interval_ms } = ctx.config
    const staleMs = probe_interval_ms * STALE_INTERVALS
    // A reload keeps the facts, the measurements and the known prefixes.
    const { index, pool, metrics } = await ctx.keep(
      'servers 1',
      () => {
        const index = new PrefixIndex()
        const now = () => performance.now()
        const pool = new ServerPool({ newResidency: () => index.newResidency(), now })
        return { index, pool, metrics: new RouterMetrics() }
      },
      kept => kept.pool.close()
    )
    const changed = () => ctx.changed(SERVERS_TOPIC)
    const feed = new PoolFeed(pool, (message, fields) => ctx.log.warn(message, fields))
    feed.configure(configuredServers(ctx.config.servers))
    const prober = new Prober({
      servers: () => {
        feed.refresh()
        metrics.keepOnly(new Set([...pool].map(({ name }) => name)))
        return pool
      },
      intervalMs: probe_interval_ms,
      changed
    })
    const pass = new RoutedPass()
    const relay = new Relay({
      servers: pool,
      placer: new Placer(index, staleMs),
      metrics,
      log: ctx.log,
      limits: () => limitsOf(ctx.config),
      passTo: ({ request }, server) => (pass.isIn(request.headers) ? (own?.available?.passFor(server.url) ?? {}) : {}),
      changed
    })
    const url = () => http?.available?.addresses.find(({ listener }) => listener === LISTENER)?.url

    if (api_key === undefined && !isLoopback(host)) {
      ctx.log.warn(
        `anyone who can reach ${host}:${port} can use the models; set inference_router.api_key or a loopback host`
      )
    }
    ctx.provide(inferenceRouter, {
      get url() {
        return url()
      },
      passFor: target => {
        const own = url()
        return own !== undefined && reaches(target, own, host) ? pass.headers() : {}
      }
    })
    ctx.contribute(httpListeners, {
      name: LISTENER,
      host,
      port,
      setting: 'inference_router.port',
      guard: 'own',
      // Ollama's format, except for the routes of the OpenAI API.
      errors: { '/': 'plain', '/v1': 'openai' }
    })
    ctx.contribute(
      httpHandlers,
      routerRoutes({
        listener: LISTENER,
        servers: pool,
        guard: new Guard(host, api_key),
        relay,
        version: ctx.version,
        maxBodyBytes: () => ctx.config.max_body_bytes
      })
    )
    ctx.follow(inferenceServers, sources => feed.follow(sources))
    ctx.onConfig(next => feed.configure(configuredServers(next.servers)))
    ctx.onServe('facts of the servers', () =>
      ctx.background('read the facts of the servers', signal => prober.run(signal))
    )
    ctx.effect('requests in flight', () => relay.stop())
    ctx.contribute(metricsText, { render: () => metrics.render(pool, index, relay.inFlight) })
    ctx.health('model servers', () => routerHealth(pool, staleMs))
    ctx.implement(
      modelServers,
      showServers({
        servers: pool,
        metrics,
        staleMs,
        refresh: async signal => {
          if ([...pool].some(({ facts, problem }) => facts === null && problem === null)) await prober.once(signal)
        }
      })
    )
    contributeConsole(ctx)
  }
})

function limitsOf(config: Settings) {
  return {
    connectTimeoutMs: config.connect_timeout_ms,
    idleTimeoutMs: config.idle_timeout_seconds * 1000,
    stallMs: config.stall_seconds * 1000,
    maxInFlight: config.max_in_flight
  }
}
