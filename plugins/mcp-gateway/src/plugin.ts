import {
  generationFlipped,
  httpHandlers,
  httpListeners,
  httpServer,
  httpUpgrades,
  kernelAdmin,
  mcpHttpEndpoint,
  mcpToolNames,
  mcpToolset,
  orchestrator,
  surfaces,
  TokenBuckets
} from '@svc/contracts'
import { definePlugin, ref } from '@svc/plugin-sdk'
import { gatewayErrors } from './errors.ts'
import { Gate } from './gate/gate.ts'
import { mobileFiles } from './mobile/files.ts'
import { gatewayRoutes, LISTENER } from './routes.ts'
import { type Settings, settings } from './settings.ts'
import { SocketEndpoint } from './socket/endpoint.ts'
import { EventFeed } from './socket/event-feed.ts'
import { type Allowed, allowedTools, assertKnown } from './tools/allowlist.ts'
import { ToolDispatcher } from './tools/tool-dispatcher.ts'

/** Folder of the page, next to `src` and `dist`, so that source and bundle find it at the same relative path. */
const PAGE = new URL('../page/', import.meta.url)
const BEAT_MS = 30_000
const NOTHING: Allowed = {
  principals: {
    write: { id: 'gateway', role: 'owner', scopes: [], tools: new Set() },
    read: { id: 'gateway-read', role: 'read', scopes: [], tools: new Set() }
  },
  missing: []
}

export default definePlugin({
  name: 'mcp-gateway',
  summary: 'Offers MCP tools to remote and mobile clients over HTTP and websockets',
  // If the gateway is enabled but cannot start, the process stops with the error.
  onBootFailure: 'abort',
  config: settings,
  requires: { toolset: ref(mcpToolset), mcp: ref(mcpHttpEndpoint), server: ref(httpServer) },
  optional: { admin: kernelAdmin, orchestrator: ref(orchestrator) },
  serves: true,
  async activate(ctx, deps) {
    const { config } = ctx
    if (!config.http_enabled) return
    assertGuarded(config)
    const perMinute = config.rate_limit_per_minute
    const buckets = await ctx.keep(
      `buckets ${perMinute}`,
      () => new TokenBuckets(perMinute),
      () => undefined
    )
    const gate = new Gate(config, buckets)
    if (config.allow_unauthenticated) {
      ctx.log.warn(
        gate.requiresToken
          ? 'SVC_MCP_HTTP_ALLOW_UNAUTHENTICATED has no effect, since a token is set'
          : `no token is set: any client that reaches ${config.host}:${config.port} can call every allowed tool`,
        { hint: 'unset SVC_MCP_HTTP_ALLOW_UNAUTHENTICATED' }
      )
    }
    const dispatcher = new ToolDispatcher(deps.toolset, NOTHING)
    const sockets = new SocketEndpoint(gate, dispatcher, config.max_websockets)
    const { host, port } = config
    ctx.contribute(httpListeners, {
      name: LISTENER,
      host,
      port,
      setting: 'plugins.mcp-gateway.port',
      guard: 'own',
      errors: 'plain'
    })
    ctx.contribute(
      httpHandlers,
      gatewayRoutes({
        gate,
        dispatcher,
        info: { settings: config, authRequired: gate.requiresToken, listener: LISTENER, server: deps.server },
        mcp: deps.mcp,
        mobile: await mobileFiles(PAGE)
      })
    )
    ctx.contribute(httpUpgrades, sockets)

    const known = (): ReadonlySet<string> => {
      const names = deps.admin?.plugins().map(({ name }) => name) ?? []
      const operations = names.flatMap(name => deps.admin?.manifest(name)?.operations ?? [])
      return new Set(mcpToolNames(operations).keys())
    }
    let began = false
    ctx.contribute(surfaces, {
      prepare(next) {
        // Checked only at the start: if the plugin of an allowed tool is removed later, the tool is no longer offered.
        if (!began) assertKnown(config, next, known())
        const allowed = allowedTools(config, next)
        const unit = next.units.get(ctx.name)
        return {
          commit() {
            began = true
            dispatcher.allowed = allowed
            sockets.unit = unit
          },
          abort: () => undefined
        }
      },
      quiesce: async () => sockets.retire()
    })

    const feed = new EventFeed(deps.orchestrator, event => sockets.notify(event))
    ctx.on(generationFlipped, () => feed.follow())
    ctx.effect('agent events', () => feed.close())
    const heart = setInterval(() => sockets.beat(), BEAT_MS).unref()
    ctx.effect('heartbeat', () => clearInterval(heart))
    ctx.background('websockets and streams', async signal => {
      if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
      sockets.retire()
      deps.mcp.current.endStreams()
    })
  }
})

/** Throws `GWY_TOKEN_MISSING` or `GWY_TOKENS_EQUAL` if the tokens are not safe. */
function assertGuarded(config: Settings): void {
  const { bearer_token: write, read_bearer_token: read, allow_unauthenticated } = config
  if (write === undefined && read === undefined && !allow_unauthenticated) {
    throw gatewayErrors.create(
      'GWY_TOKEN_MISSING',
      'the gateway is enabled, but neither SVC_MCP_HTTP_BEARER_TOKEN nor SVC_MCP_HTTP_READ_BEARER_TOKEN is set',
      {
        at: { path: 'plugins.mcp-gateway.bearer_token' },
        hint: 'set SVC_MCP_HTTP_BEARER_TOKEN; for local tests only, set SVC_MCP_HTTP_ALLOW_UNAUTHENTICATED=1'
      }
    )
  }
  if (write !== undefined && write === read) {
    throw gatewayErrors.create(
      'GWY_TOKENS_EQUAL',
      'SVC_MCP_HTTP_BEARER_TOKEN and SVC_MCP_HTTP_READ_BEARER_TOKEN are equal, so callers with the read role could write',
      { at: { path: 'plugins.mcp-gateway.read_bearer_token' }, hint: 'set a different token for the read role' }
    )
  }
}
