import { createRequestStateCodec, type McpRequestContext, McpServer } from '@modelcontextprotocol/server'
import type { McpPrincipal } from '@svc/contracts'
import type { McpCatalog } from './catalog.ts'
import { bindHandlers } from './handlers.ts'
import type { LiveServer } from './hub.ts'
import type { SealedState } from './input-required.ts'

const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {}
}

/** Maximum time between two rounds of one call. */
const STATE_TTL_SECONDS = 600

/** Dependencies of the servers of one unit. */
export interface ServerOptions {
  /** Key that signs request states: 32 bytes, the same for every unit. */
  readonly stateKey: Uint8Array
  readonly version: string
  catalog(): McpCatalog
  /** Instructions for the client. */
  banner(): string
  onError(error: Error): void
}

/** Makes the SDK's servers. Loaded at the first request, since the SDK costs much of a start. */
export class ServerFactory {
  readonly #options: ServerOptions
  readonly #codec: ReturnType<typeof createRequestStateCodec<SealedState>>

  constructor(options: ServerOptions) {
    this.#options = options
    this.#codec = createRequestStateCodec<SealedState>({ key: options.stateKey, ttlSeconds: STATE_TTL_SECONDS })
  }

  /** A server whose answers come from the catalog of the time of a request. */
  make({ era }: McpRequestContext, principal: McpPrincipal): { mcp: McpServer; live: LiveServer } {
    const mcp = new CatalogServer(this.#options, this.#codec.verify)
    mcp.server.onerror = error => this.#options.onError(error)
    const { server } = mcp
    const live = { server, principal, era, subscriptions: new Set<string>(), listening: true, missed: new Map() }
    this.bind(live)
    return { mcp, live }
  }

  /** Makes a server answer with this unit's handlers, also one that another unit made. */
  bind({ server, principal, subscriptions }: LiveServer): void {
    const { mint } = this.#codec
    bindHandlers(server, { catalog: () => this.#options.catalog(), principal, subscriptions, mint })
  }
}

/** The SDK checks `Mcp-Param-*` headers against its own registry; ours is the catalog. */
class CatalogServer extends McpServer {
  readonly #catalog: () => McpCatalog

  constructor(
    { catalog, version, banner }: ServerOptions,
    verify: ReturnType<typeof createRequestStateCodec<SealedState>>['verify']
  ) {
    super({ name: 'svc-mcp', title: 'svc', version }, { instructions: banner(), requestState: { verify } })
    this.#catalog = catalog
    this.server.registerCapabilities(CAPABILITIES)
  }

  override toolInputSchemaJson(name: string): Record<string, unknown> | undefined {
    return this.#catalog().tools.get(name)?.listing.inputSchema
  }
}
