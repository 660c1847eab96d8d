import { createRequestStateCodec, type McpRequestContext, McpServer } from '@modelcontextprotocol/server'
import type { McpPrincipal } from '@svc/contracts'
import type { McpCatalog } from './catalog.ts'
import { bindHandlers, type ListView } from './handlers.ts'
import type { LiveServer } from './hub.ts'
import type { SealedState } from './input-required.ts'
import type { CallListener } from './tool.ts'
import type { ToolChoice } from './toolsets.ts'

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
  /** Returns the instructions for a client. */
  instructions(principal: McpPrincipal): string
  /** See {@link Serving.view}. */
  view(live: LiveServer, client: string, url: string | undefined): ListView
  /** See {@link Serving.listener}. */
  listener(): CallListener | null
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
  make(
    { era }: McpRequestContext,
    principal: McpPrincipal,
    choice: ToolChoice = {}
  ): { mcp: McpServer; live: LiveServer } {
    const instructions = this.#options.instructions(principal)
    const mcp = new CatalogServer(this.#options, instructions, this.#codec.verify)
    mcp.server.onerror = error => this.#options.onError(error)
    const { server } = mcp
    const live: LiveServer = {
      ...{ server, principal, era, choice },
      ...{ subscriptions: new Set<string>(), listening: true, missed: new Map(), enabled: null }
    }
    this.bind(live)
    return { mcp, live }
  }

  /** Installs this unit's handlers on a server, which another unit may have created. */
  bind(live: LiveServer): void {
    const { mint } = this.#codec
    const { server, principal, subscriptions } = live
    const { catalog, listener, view } = this.#options
    const viewOf = (client: string, url: string | undefined): ListView => view(live, client, url)
    bindHandlers(server, { catalog, listener, principal, subscriptions, mint, view: viewOf })
  }
}

/** Server whose tools come from the catalog. The SDK would check `Mcp-Param-*` headers against its own registry. */
class CatalogServer extends McpServer {
  readonly #catalog: () => McpCatalog

  constructor(
    { catalog, version }: ServerOptions,
    instructions: string,
    verify: ReturnType<typeof createRequestStateCodec<SealedState>>['verify']
  ) {
    super({ name: 'svc-mcp', title: 'svc', version }, { instructions, requestState: { verify } })
    this.#catalog = catalog
    this.server.registerCapabilities(CAPABILITIES)
  }

  override toolInputSchemaJson(name: string): Record<string, unknown> | undefined {
    return this.#catalog().tools.get(name)?.listing.inputSchema
  }
}
