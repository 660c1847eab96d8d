import { type McpRequestContext, McpServer } from '@modelcontextprotocol/server'
import type { KernelPort, McpChange, McpPrincipal } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { type Catalog, type CatalogFingerprint, fingerprint } from './catalog.ts'
import { bindHandlers } from './handlers.ts'
import type { LiveServer, McpHub } from './hub.ts'
import { principalOf } from './principal.ts'

const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {}
}

/** Sends to HTTP subscribers the notifications that {@link ServingUnit.announce} sends to live servers. */
export interface Notifier {
  toolsChanged(): void
  promptsChanged(): void
  resourcesChanged(): void
  resourceUpdated(uri: string): void
}

/** One unit of this plugin as a server: its catalog, servers and notifications. */
export class ServingUnit {
  readonly #hub: McpHub
  readonly #port: KernelPort
  readonly #log: Logger
  #catalog: Catalog | null = null
  #notifier: Notifier | null = null

  constructor(hub: McpHub, port: KernelPort, log: Logger) {
    this.#hub = hub
    this.#port = port
    this.#log = log
  }

  /** Receives changes for HTTP subscribers. */
  notify(notifier: Notifier): void {
    this.#notifier = notifier
  }

  /** From now on, this unit answers, including on servers created by an old unit. Runs inside the flip. */
  adopt(catalog: Catalog): void {
    this.#catalog = catalog
    for (const live of this.#hub.live) this.#bind(live)
  }

  /** A server for one request. */
  oneShot(context: McpRequestContext, principal = principalOf(context.authInfo)): McpServer {
    const mcp = this.#make()
    this.#bind(newLive(mcp, context, principal))
    return mcp
  }

  /** A long-lived server, until either side closes it. */
  lasting(context: McpRequestContext, principal = principalOf(context.authInfo)): { mcp: McpServer; live: LiveServer } {
    const mcp = this.#make()
    const live = newLive(mcp, context, principal)
    this.#bind(live)
    this.#hub.live.add(live)
    const { live: all } = this.#hub
    const onclose = mcp.server.onclose
    mcp.server.onclose = () => {
      all.delete(live)
      onclose?.()
    }
    return { mcp, live }
  }

  /** Notifies clients of every list that differs from the last announced one. */
  changedLists(): readonly (keyof CatalogFingerprint)[] {
    if (this.#catalog === null) return []
    const now = fingerprint(this.#catalog)
    const before = this.#hub.announced
    this.#hub.announced = now
    if (before === null) return []
    return (['tools', 'resources', 'prompts'] as const).filter(kind => now[kind] !== before[kind])
  }

  /** Notifies clients of a change. */
  announce(change: McpChange): void {
    for (const live of this.#hub.live) this.#tell(live, change)
    if (change.kind === 'tools') {
      this.#notifier?.toolsChanged()
      for (const listener of this.#hub.toolListeners) listener()
    } else if (change.kind === 'prompts') this.#notifier?.promptsChanged()
    else if (change.kind === 'resources') this.#notifier?.resourcesChanged()
    else this.#notifier?.resourceUpdated(change.uri)
  }

  /** A session's client calls with its current rights. */
  identify(live: LiveServer, principal: McpPrincipal): void {
    if (live.principal === principal) return
    live.principal = principal
    this.#bind(live)
  }

  /** Starts notifications for a client, beginning with missed ones. */
  resume(live: LiveServer): void {
    const missed = [...live.missed.values()]
    live.missed.clear()
    live.listening = true
    for (const change of missed) this.#tell(live, change)
  }

  #tell(live: LiveServer, change: McpChange): void {
    if (!concerns(live, change)) return
    if (!live.listening) live.missed.set(change.kind === 'resource' ? change.uri : change.kind, change)
    else send(live, change).catch((error: unknown) => this.#log.debug('an MCP client missed a notice', { error }))
  }

  #make(): McpServer {
    const mcp = new CatalogServer(() => this.#current(), this.#port.version, this.#banner(), this.#hub.codec.verify)
    mcp.server.onerror = error => this.#log.debug('MCP exchange failed', { error })
    return mcp
  }

  #bind({ server, principal, subscriptions }: LiveServer): void {
    const mint = this.#hub.codec.mint
    bindHandlers(server, { catalog: () => this.#current(), principal, subscriptions, mint })
  }

  /** The current catalog. */
  get catalog(): Catalog {
    return this.#current()
  }

  #current(): Catalog {
    if (this.#catalog === null) throw new Error('asked before the first generation')
    return this.#catalog
  }

  #banner(): string {
    const { version, repositoryId } = this.#port
    return `svc ${version} for ${repositoryId}: ${this.#current().tools.size} tools, MCP 2025-11-25 and 2026-07-28`
  }
}

function newLive({ server }: McpServer, { era }: McpRequestContext, principal: McpPrincipal): LiveServer {
  return { server, principal, era, subscriptions: new Set(), listening: true, missed: new Map() }
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

/** The SDK checks `Mcp-Param-*` headers against its own registry; ours is the catalog. */
class CatalogServer extends McpServer {
  readonly #catalog: () => Catalog

  constructor(catalog: () => Catalog, version: string, instructions: string, verify: McpHub['codec']['verify']) {
    super({ name: 'svc-mcp', title: 'svc', version }, { instructions, requestState: { verify } })
    this.#catalog = catalog
    this.server.registerCapabilities(CAPABILITIES)
  }

  override toolInputSchemaJson(name: string): Record<string, unknown> | undefined {
    return this.#catalog().tools.get(name)?.listing.inputSchema
  }
}
