import type { McpToolListing, McpToolset, McpToolsetCall } from '@svc/contracts'

export interface Called {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
  readonly principal: McpToolsetCall['principal']
}

export interface Tool extends Partial<McpToolListing> {
  readonly name: string
  readonly run?: (signal: AbortSignal | undefined) => Promise<string>
}

/** Returns a toolset of scripted tools that filters by principal like the registry, and records the calls. */
export function toolsetOf(...tools: readonly Tool[]): { readonly toolset: McpToolset; readonly called: Called[] } {
  const called: Called[] = []
  const listed = tools.map(({ run: _, ...tool }): McpToolListing => {
    const rest = {
      inputSchema: { type: 'object' },
      readOnly: true,
      aliases: [],
      lane: null,
      tier: 'core',
      toolsets: []
    }
    return { description: '', readRole: true, plugin: 'files', ...rest, ...tool }
  })
  const visible = (principal: McpToolsetCall['principal']) =>
    listed
      .filter(tool => tool.readOnly || principal.role !== 'read')
      .filter(tool => principal.tools?.has(tool.name) ?? true)
  const toolset: McpToolset = {
    tools: visible,
    canonical: name => listed.find(tool => tool.name === name || tool.aliases.includes(name))?.name ?? null,
    async call(name, args, { principal, signal }) {
      called.push({ name, args, principal })
      if (!visible(principal).some(tool => tool.name === name)) return null
      const text = await (tools.find(tool => tool.name === name)?.run?.(signal) ??
        Promise.resolve(`${name} says hello`))
      return { content: [{ type: 'text', text }] }
    },
    onChange: () => () => {}
  }
  return { toolset, called }
}
