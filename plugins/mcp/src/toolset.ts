import type { McpPrincipal, McpToolListing, McpToolset, McpToolsetCall, McpToolsetResult } from '@svc/contracts'
import { findByName, type McpCatalog } from './catalog.ts'
import { mcpErrors } from './errors.ts'
import type { McpHub } from './hub.ts'
import { maySeeTool } from './principal.ts'
import { type CallListener, errorResult, type ToolEntry } from './tool.ts'
import { DirectCall } from './toolset-call.ts'
import { ALWAYS_LISTED } from './toolsets.ts'

/** Toolset of the serving generation, for another surface. */
export class CatalogToolset implements McpToolset {
  readonly #catalog: () => McpCatalog
  readonly #listeners: McpHub['toolListeners']
  readonly #listener: () => CallListener | null

  /** `listener`: returns the listener of calls that succeed; null if there is none. */
  constructor(
    catalog: () => McpCatalog,
    { toolListeners }: Pick<McpHub, 'toolListeners'>,
    listener: () => CallListener | null
  ) {
    this.#catalog = catalog
    this.#listeners = toolListeners
    this.#listener = listener
  }

  tools(principal: McpPrincipal): readonly McpToolListing[] {
    const listings: McpToolListing[] = []
    for (const tool of this.#catalog().tools.values()) {
      // Another surface lists all tools, so it needs none that add toolsets.
      if (tool.toolsets.includes(ALWAYS_LISTED)) continue
      if (maySeeTool(principal, tool) && tool.available()) listings.push(listingOf(tool))
    }
    return listings
  }

  canonical(name: string): string | null {
    return findByName(this.#catalog(), name)?.name ?? null
  }

  call(name: string, args: Readonly<Record<string, unknown>>, call: McpToolsetCall): Promise<McpToolsetResult | null> {
    const tool = findByName(this.#catalog(), name)
    if (tool === undefined || !maySeeTool(call.principal, tool) || !tool.available()) return NOTHING
    const [needed] = Object.keys(tool.requires)
    const direct = new DirectCall(call)
    const result = (
      needed === undefined
        ? tool.run(args, direct)
        : Promise.resolve(errorResult(capabilityNeeded(tool, needed), direct.requestId))
    ) as Promise<McpToolsetResult>
    const listener = this.#listener()
    if (listener === null) return result
    return result.then(value => {
      if (value.isError !== true) listener(tool, args)
      return value
    })
  }

  onChange(listener: () => void): () => void {
    // Wrapped, so that a function that is registered twice has two separate registrations.
    const registered = (): void => listener()
    this.#listeners.add(registered)
    return () => this.#listeners.delete(registered)
  }
}

const NOTHING = Promise.resolve(null)

function capabilityNeeded({ name }: ToolEntry, capability: string): Error {
  return mcpErrors.create(
    'MCP_CLIENT_NEEDED',
    `the tool ${name} needs a client with the capability ${capability}, and this surface has no such client`,
    { hint: 'call the tool over MCP, with a client that has this capability' }
  )
}

const listings = new WeakMap<ToolEntry, McpToolListing>()

/** Returns the listing of a tool. Cached: consecutive generations have nearly the same tools. */
function listingOf(tool: ToolEntry): McpToolListing {
  const cached = listings.get(tool)
  if (cached !== undefined) return cached
  const { title, description, inputSchema, outputSchema } = tool.listing
  const listing: McpToolListing = {
    name: tool.name,
    ...(title === undefined ? {} : { title }),
    description: description ?? '',
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema: outputSchema as Readonly<Record<string, unknown>> }),
    readOnly: tool.readOnly,
    aliases: tool.aliases,
    lane: tool.lane,
    tier: tool.tier,
    readRole: tool.readRole,
    plugin: tool.unit.name,
    toolsets: tool.toolsets
  }
  listings.set(tool, listing)
  return listing
}
