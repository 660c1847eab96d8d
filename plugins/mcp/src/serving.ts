import type { McpRequestContext, McpServer } from '@modelcontextprotocol/server'
import type { KernelPort, McpChange, McpPrincipal } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { type CatalogFingerprint, fingerprint, type McpCatalog } from './catalog.ts'
import type { ListView } from './handlers.ts'
import { enabledToolsets, type LiveServer, type McpHub } from './hub.ts'
import { instructionsFor } from './instructions.ts'
import { maySeeTool, principalOf } from './principal.ts'
import type { ServerFactory } from './protocol-server.ts'
import type { CallListener } from './tool.ts'
import {
  ALL_TOOLSETS,
  ALWAYS_LISTED,
  choiceOf,
  chosenToolsets,
  isToolset,
  type ToolChoice,
  type ToolsetSettings,
  unknownToolset
} from './toolsets.ts'

/** Sends the notifications of {@link ServingUnit.announce} to HTTP subscribers. */
export interface Notifier {
  toolsChanged(): void
  promptsChanged(): void
  resourcesChanged(): void
  resourceUpdated(uri: string): void
}

/** Server side of one unit of this plugin: its catalog, servers and notifications. */
export class ServingUnit {
  readonly #hub: McpHub
  readonly #port: KernelPort
  readonly #settings: ToolsetSettings
  readonly #log: Logger
  readonly #listener: () => CallListener | null
  #catalog: McpCatalog | null = null
  #notifier: Notifier | null = null
  /** Undefined until the first client connects. */
  #servers: ServerFactory | undefined
  #loading: Promise<ServerFactory> | undefined

  /** `listener`: returns the listener of tool calls that succeed; null if there is none. */
  constructor(
    hub: McpHub,
    port: KernelPort,
    settings: ToolsetSettings,
    log: Logger,
    listener: () => CallListener | null
  ) {
    this.#listener = listener
    this.#hub = hub
    this.#port = port
    this.#settings = settings
    this.#log = log
  }

  /** Sets the notifier for HTTP subscribers. */
  notify(notifier: Notifier): void {
    this.#notifier = notifier
  }

  /** Loads the SDK if an earlier unit has servers. Otherwise the first client loads it. */
  async prepare(): Promise<void> {
    if (this.#hub.live.size > 0) await this.#load()
  }

  /** Makes this unit handle all requests, including those to servers of an old unit. Runs inside the flip. */
  adopt(catalog: McpCatalog): void {
    this.#catalog = catalog
    if (this.#servers !== undefined) this.#bindAll(this.#servers)
    // A client connected after `prepare`.
    else if (this.#hub.live.size > 0)
      this.#load().then(
        servers => this.#bindAll(servers),
        (error: unknown) => this.#log.error('MCP clients keep the handlers of the old unit', { error })
      )
  }

  /** Creates a server for one request. */
  async oneShot(context: McpRequestContext, principal = principalOf(context.authInfo)): Promise<McpServer> {
    return (await this.#load()).make(context, principal).mcp
  }

  /** Creates a long-lived server, which stays until either side closes it. */
  async lasting(
    context: McpRequestContext,
    principal = principalOf(context.authInfo),
    choice?: ToolChoice
  ): Promise<{ mcp: McpServer; live: LiveServer }> {
    const { mcp, live } = (await this.#load()).make(context, principal, choice)
    live.enabled = new Set()
    this.#hub.live.add(live)
    const { live: all } = this.#hub
    const onclose = mcp.server.onclose
    mcp.server.onclose = () => {
      all.delete(live)
      onclose?.()
    }
    return { mcp, live }
  }

  /** Returns the lists that changed since the last call, and remembers the current ones. */
  changedLists(): readonly (keyof CatalogFingerprint)[] {
    if (this.#catalog === null) return []
    const now = fingerprint(this.#catalog, this.#settings)
    const before = this.#hub.announced
    this.#hub.announced = now
    if (before === null) return []
    return (['tools', 'resources', 'prompts'] as const).filter(kind => now[kind] !== before[kind])
  }

  /** Notifies clients of a change. */
  announce(change: McpChange): void {
    for (const live of this.#hub.live) this.#notifyClient(live, change)
    if (change.kind === 'tools') {
      this.#notifier?.toolsChanged()
      for (const listener of this.#hub.toolListeners) listener()
    } else if (change.kind === 'prompts') this.#notifier?.promptsChanged()
    else if (change.kind === 'resources') this.#notifier?.resourcesChanged()
    else this.#notifier?.resourceUpdated(change.uri)
  }

  /** Sets the principal of a session to that of its newest request. */
  identify(live: LiveServer, principal: McpPrincipal): void {
    if (live.principal === principal) return
    live.principal = principal
    this.#servers?.bind(live)
  }

  /** Starts notifications for a client, beginning with missed ones. */
  resume(live: LiveServer): void {
    const missed = [...live.missed.values()]
    live.missed.clear()
    live.listening = true
    for (const change of missed) this.#notifyClient(live, change)
  }

  #notifyClient(live: LiveServer, change: McpChange): void {
    if (!concerns(live, change)) return
    if (!live.listening) live.missed.set(change.kind === 'resource' ? change.uri : change.kind, change)
    else send(live, change).catch((error: unknown) => this.#log.debug('an MCP client missed a notification', { error }))
  }

  #load(): Promise<ServerFactory> {
    return (this.#loading ??= import('./protocol-server.ts').then(({ ServerFactory }) => {
      this.#servers = new ServerFactory({
        stateKey: this.#hub.stateKey,
        version: this.#port.version,
        catalog: () => this.#current(),
        instructions: principal => this.#instructions(principal),
        view: (live, client, url) => this.#view(live, client, url),
        listener: this.#listener,
        onError: error => this.#log.debug('MCP exchange failed', { error })
      })
      return this.#servers
    }))
  }

  #bindAll(servers: ServerFactory): void {
    for (const live of this.#hub.live) servers.bind(live)
  }

  /** The current catalog. */
  get catalog(): McpCatalog {
    return this.#current()
  }

  #current(): McpCatalog {
    if (this.#catalog === null) throw new Error('the catalog is not available before the first generation')
    return this.#catalog
  }

  /** Throws `MCP_TOOL_CHOICE_INVALID` and `MCP_TOOLSET_UNKNOWN`. */
  #view(live: LiveServer, client: string, url: string | undefined): ListView {
    const settings = this.#settings
    const choice = { ...live.choice, ...choiceOf(url) }
    const tools = this.#current().tools
    for (const name of choice.toolsets ?? [])
      if (!isToolset(name, tools.values())) throw unknownToolset(name, tools.values(), 'toolsets')
    const enabled = enabledToolsets(this.#hub, live, client)
    // The allow list of another surface is a choice already.
    const chosen =
      live.principal.tools !== undefined && choice.toolsets === undefined
        ? [ALL_TOOLSETS]
        : chosenToolsets(settings, choice, client)
    return {
      toolsets: new Set([...chosen, ...enabled.names, ALWAYS_LISTED]),
      outputSchemas: choice.outputSchemas ?? settings.output_schemas,
      enable: name => {
        enabled.add(name)
        if (live.enabled === null) this.#notifier?.toolsChanged()
        else this.#notifyClient(live, { kind: 'tools' })
      }
    }
  }

  #instructions(principal: McpPrincipal): string {
    const { version, repositoryId } = this.#port
    const { tools } = this.#current()
    return instructionsFor(
      `svc ${version} for ${repositoryId}: ${tools.size} tools, MCP 2025-11-25 and 2026-07-28`,
      name => {
        const tool = tools.get(name)
        return tool !== undefined && maySeeTool(principal, tool)
      }
    )
  }
}

function concerns({ era, subscriptions }: LiveServer, change: McpChange): boolean {
  // With the 2026 protocol, the SDK tracks subscriptions.
  return change.kind !== 'resource' || era === 'modern' || subscriptions.has(change.uri)
}

async function send({ server }: LiveServer, change: McpChange): Promise<void> {
  if (change.kind === 'tools') return server.sendToolListChanged()
  if (change.kind === 'prompts') return server.sendPromptListChanged()
  if (change.kind === 'resources') return server.sendResourceListChanged()
  return server.sendResourceUpdated({ uri: change.uri })
}
