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

/** Maximum seconds between two rounds of one call. */
const STATE_TTL_SECONDS = 600

/** Dependencies of the servers of one unit. */
export interface ServerOptions {
  /** Key that signs request states: 32 bytes, the same for every unit. */
  readonly stateKey: Uint8Array
  readonly version: string
  catalog(): McpCatalog
  /** Returns the instructions for the client. */
  banner(): string
  onError(error: Error): void
}

/** Creates servers of the SDK. Loaded at the first request, because loading the SDK would slow every start. */
export class ServerFactory {
  readonly #options: ServerOptions
  readonly #codec: ReturnType<typeof createRequestStateCodec<SealedState>>

  constructor(options: ServerOptions) {
    this.#options = options
    this.#codec = createRequestStateCodec<SealedState>({ key: options.stateKey, ttlSeconds: STATE_TTL_SECONDS })
  }

  /** Creates a server that looks up the catalog at each request. */
  make({ era }: McpRequestContext, principal: McpPrincipal): { mcp: McpServer; live: LiveServer } {
    const mcp = new CatalogServer(this.#options, this.#codec.verify)
    mcp.server.onerror = error => this.#options.onError(error)
    const { server } = mcp
    const live = { server, principal, era, subscriptions: new Set<string>(), listening: true, missed: new Map() }
    this.bind(live)
    return { mcp, live }
  }

  /** Installs this unit's handlers on a server, which another unit may have created. */
  bind({ server, principal, subscriptions }: LiveServer): void {
    const { mint } = this.#codec
    bindHandlers(server, { catalog: () => this.#options.catalog(), principal, subscriptions, mint })
  }
}

/** Server whose tools come from the catalog. The SDK would check `Mcp-Param-*` headers against its own registry. */
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
