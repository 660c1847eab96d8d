import {
  agentFleet,
  daemonPeer,
  generationFlipped,
  httpRoutes,
  kernelPort,
  mcpChanged,
  mcpHttpEndpoint,
  mcpPrompts,
  mcpResources,
  mcpResourceTemplates,
  mcpTools,
  mcpToolset,
  meshNode,
  rewardEvents,
  sendReward,
  surfaces
} from '@svc/contracts'
import { defined, definePlugin, type Infer, isSvcError, type Ref, ref, t } from '@svc/plugin-sdk'
import { buildCatalog, loadCompilers } from './catalog.ts'
import { Endpoint } from './endpoint.ts'
import { HttpEntry } from './http-entry.ts'
import { closeHub, type HubOwner, openHub } from './hub.ts'
import { OWNER, READER } from './principal.ts'
import { mcpRoutes } from './routes.ts'
import { ServingUnit } from './serving.ts'
import type { CallListener, ToolEntry } from './tool.ts'
import { calledEvent } from './tool-reward.ts'
import { CatalogToolset } from './toolset.ts'
import { toolsetTools } from './toolset-tools.ts'
import { DEFAULT_TOOLSET, isToolset, toolsetNames, unknownToolset } from './toolsets.ts'

const config = t.object({
  path: t.string({ default: '/mcp', pattern: '^/\\S+$', description: 'Path of Streamable HTTP on the main listener' }),
  max_body_bytes: t.integer({
    default: 4_194_304,
    minimum: 1024,
    description: 'Maximum bytes of a request body over HTTP'
  }),
  max_sessions: t.integer({ default: 256, minimum: 1, description: 'Maximum HTTP sessions of the 2025 protocol' }),
  session_idle_ms: t.integer({
    default: 1_800_000,
    minimum: 1,
    description: 'Idle time in milliseconds after which an HTTP session of the 2025 protocol is closed'
  }),
  max_subscriptions: t.integer({
    default: 1024,
    minimum: 1,
    description: 'Maximum open subscriptions of the 2026 protocol'
  }),
  toolsets: t.array(t.string({ minLength: 1 }), {
    default: [DEFAULT_TOOLSET],
    minItems: 1,
    description:
      'Toolsets that clients receive. "all" stands for every toolset. A URL or a command line may choose others.'
  }),
  client_toolsets: t.record(t.array(t.string({ minLength: 1 }), { minItems: 1 }), {
    default: {},
    description: 'Toolsets by name of a client, instead of `toolsets`.'
  }),
  output_schemas: t.enum(['none', 'full'], {
    default: 'none',
    description: 'Whether lists of tools contain the schemas of outputs. They are more than half of a list.'
  })
})

const MAX_SWEEP_INTERVAL_MS = 60_000

export default definePlugin({
  name: 'mcp',
  summary: 'Model Context Protocol over stdio and Streamable HTTP',
  config,
  requires: { port: kernelPort },
  optional: { fleet: ref(agentFleet), mesh: ref(meshNode), daemon: ref(daemonPeer) },
  provides: [mcpToolset, mcpHttpEndpoint],
  points: [mcpTools, mcpResources, mcpResourceTemplates, mcpPrompts],
  hooks: [mcpChanged, rewardEvents],
  commands: [
    {
      command: 'mcp',
      summary: 'Serve the Model Context Protocol on standard input and output',
      project: true,
      input: t.object({
        'read-only': t.boolean({ default: false, description: 'Offer only tools that change nothing' }),
        toolsets: t.optional(
          t.string({ description: 'Toolsets to offer, comma-separated; "all" for every tool. Default: the settings' })
        ),
        'output-schemas': t.boolean({ default: false, description: 'Add the schemas of outputs to the list of tools' })
      })
    }
  ],
  async activate(ctx, { port, fleet, mesh, daemon }) {
    const settings = ctx.config as Infer<typeof config>
    const hub = await ctx.keep('hub 4', openHub, closeHub)
    const called: CallListener = (tool, args) => sendReward(ctx, () => calledEvent(tool, args))
    const listener = (): CallListener | null => (ctx.isTapped(rewardEvents) ? called : null)
    const unit = new ServingUnit(hub, port, settings, ctx.log, listener)
    const http = new HttpEntry(hub, unit, settings, ctx.log)
    const endpoint = new Endpoint(http)
    const owner: HubOwner = {
      lasting: async (context, principal, choice) => (await unit.lasting(context, principal, choice)).mcp,
      retire: () => http.retire()
    }

    ctx.contribute(surfaces, {
      async prepare(next) {
        const own = next.units.get(ctx.name)
        const tools = own === undefined ? [] : toolsetTools(own, () => unit.catalog)
        const catalog = buildCatalog(next, await loadCompilers(next), tools)
        await unit.prepare()
        return {
          commit() {
            if (hub.owner !== owner) hub.owner?.retire()
            hub.owner = owner
            endpoint.unit = own
            unit.adopt(catalog)
          },
          abort: () => undefined
        }
      },
      // Open notification streams would delay the shutdown of the HTTP server.
      quiesce: async () => http.retire()
    })
    let warned = ''
    ctx.on(generationFlipped, async _diff => {
      const unknown = unknownIn(settings, unit.catalog.tools)
      if (unknown.length > 0 && warned !== unknown.join())
        ctx.log.warn('the settings of the plugin mcp name toolsets that no plugin has', { toolsets: unknown })
      warned = unknown.join()
      await Promise.all(unit.changedLists().map(kind => ctx.trigger(mcpChanged, { kind })))
    })
    ctx.on(mcpChanged, change => unit.announce(change))
    ctx.contribute(httpRoutes, mcpRoutes(settings.path, http))

    ctx.provide(mcpToolset, new CatalogToolset(() => unit.catalog, hub, listener))
    ctx.provide(mcpHttpEndpoint, endpoint)
    ctx.command('mcp', async (input, io) => {
      const principal = input['read-only'] === true ? READER : OWNER
      startIfPresent(daemon)
      // The owner may submit tasks, so the fleet and the mesh work on them while the client is connected.
      if (principal === OWNER) {
        startIfPresent(fleet)
        startIfPresent(mesh)
      }
      const { serveTerminal } = await import('./stdio.ts')
      const toolsets = toolsetNames(input.toolsets as string | undefined)
      const unknown = toolsets?.find(name => !isToolset(name, unit.catalog.tools.values()))
      if (unknown !== undefined) throw unknownToolset(unknown, unit.catalog.tools.values(), '--toolsets')
      const choice = defined({
        toolsets,
        outputSchemas: input['output-schemas'] === true ? ('full' as const) : undefined
      })
      await serveTerminal(hub, io, principal, ctx.log, { maxSubscriptions: settings.max_subscriptions, choice })
    })

    const sweeper = setInterval(() => http.sweep(), Math.min(settings.session_idle_ms, MAX_SWEEP_INTERVAL_MS))
    sweeper.unref()
    ctx.effect('session sweeper', () => clearInterval(sweeper))
    ctx.background('notice streams', async signal => {
      if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
      http.retire()
    })
    ctx.effect('http exchanges', () => http.close())
  }
})

/** Returns the names in the settings that are no toolsets. Their plugins may be disabled. */
function unknownIn(
  { toolsets, client_toolsets }: Infer<typeof config>,
  tools: ReadonlyMap<string, ToolEntry>
): readonly string[] {
  const names = [...toolsets, ...Object.values(client_toolsets).flat()]
  return names.filter(name => !isToolset(name, tools.values()))
}

/** Starts the agent fleet, the mesh node or the check of the daemon, if the project has one. */
function startIfPresent(service: Ref<{ start(): void }> | undefined): void {
  try {
    service?.current.start()
  } catch (error) {
    if (!isSvcError(error) || error.code !== 'KRN_SERVICE_GONE') throw error
  }
}
