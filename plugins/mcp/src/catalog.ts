import type { UriTemplate } from '@modelcontextprotocol/server'
import {
  type Contribution,
  type GenerationView,
  type McpPrompt,
  type McpResource,
  type McpResourceTemplate,
  mcpPrompts,
  mcpResources,
  mcpResourceTemplates,
  mcpTools,
  type UnitView
} from '@svc/contracts'
import { mcpErrors } from './errors.ts'
import { operationTool } from './operation-tool.ts'
import type { Guarded } from './principal.ts'
import type { rawTool } from './raw-tool.ts'
import type { compileTemplate } from './template.ts'
import type { ToolEntry } from './tool.ts'
import type { ToolsetSettings } from './toolsets.ts'

export interface ResourceEntry extends Guarded {
  readonly item: McpResource
  readonly unit: UnitView
}

export interface TemplateEntry extends Guarded {
  readonly item: McpResourceTemplate
  readonly uriTemplate: UriTemplate
  readonly unit: UnitView
}

export interface PromptEntry extends Guarded {
  readonly item: McpPrompt
  readonly unit: UnitView
}

/**
 * Tools, resources and prompts of one generation. The lists are sorted, so that equal generations produce equal lists.
 */
export interface McpCatalog {
  readonly tools: ReadonlyMap<string, ToolEntry>
  /** Tools by alias. */
  readonly aliases: ReadonlyMap<string, ToolEntry>
  readonly resources: ReadonlyMap<string, ResourceEntry>
  readonly templates: readonly TemplateEntry[]
  readonly prompts: ReadonlyMap<string, PromptEntry>
}

/** Functions that compile MCP contributions of plugins; they need the SDK. */
export interface Compilers {
  readonly rawTool: typeof rawTool
  readonly compileTemplate: typeof compileTemplate
}

/** Loads the compilers; undefined for a generation with only operations, plain resources and prompts. */
export async function loadCompilers(generation: GenerationView): Promise<Compilers | undefined> {
  if (generation.items(mcpTools).length + generation.items(mcpResourceTemplates).length === 0) return undefined
  const [{ rawTool }, { compileTemplate }] = await Promise.all([import('./raw-tool.ts'), import('./template.ts')])
  return { rawTool, compileTemplate }
}

/**
 * Builds the catalog of a generation. Throws `MCP_TOOL_CONFLICT`, `MCP_TOOL_NAME_INVALID`, `MCP_SCHEMA_INVALID` or
 * `MCP_TEMPLATE_INVALID`. `compilers`: the result of {@link loadCompilers} for the generation. `own`: tools of the plugin
 * mcp itself.
 */
export function buildCatalog(
  generation: GenerationView,
  compilers?: Compilers,
  own: readonly ToolEntry[] = []
): McpCatalog {
  const tools = collectTools(generation, compilers, own)
  return {
    tools,
    aliases: collectAliases(tools),
    resources: new Map(
      sorted(generation.items(mcpResources), item => item.uri).map(each => [each.item.uri, guarded(each)])
    ),
    templates: sorted(generation.items(mcpResourceTemplates), item => item.uriTemplate).map(each => ({
      ...guarded(each),
      uriTemplate: loaded(compilers).compileTemplate(each)
    })),
    prompts: new Map(
      sorted(generation.items(mcpPrompts), item => item.name).map(each => [each.item.name, guarded(each)])
    )
  }
}

/** Fingerprint of a catalog, equal for catalogs with equal lists. */
export interface CatalogFingerprint {
  readonly tools: string
  readonly resources: string
  readonly prompts: string
}

/** `settings`: those that choose toolsets. */
export function fingerprint(catalog: McpCatalog, settings?: ToolsetSettings): CatalogFingerprint {
  const { toolsets, client_toolsets, output_schemas } = settings ?? {}
  const tools = [...catalog.tools.values()]
  const lines = tools.map(tool => `${listingJson(tool.listing)} ${tool.toolsets} ${tool.available()}`)
  return {
    tools: [JSON.stringify([toolsets, client_toolsets, output_schemas]), ...lines].join('\n'),
    resources: JSON.stringify(
      [[...catalog.resources.values()], catalog.templates].map(list => list.map(({ item }) => item))
    ),
    prompts: JSON.stringify([...catalog.prompts.values()].map(({ item }) => item))
  }
}

/** Finds a tool by name or alias. */
export function findByName(
  { tools, aliases }: Pick<McpCatalog, 'tools' | 'aliases'>,
  name: string
): ToolEntry | undefined {
  return tools.get(name) ?? aliases.get(name)
}

const texts = new WeakMap<ToolEntry['listing'], string>()

/** Returns a listing as JSON. Cached: consecutive generations list nearly the same tools. */
function listingJson(listing: ToolEntry['listing']): string {
  const text = texts.get(listing) ?? JSON.stringify(listing)
  texts.set(listing, text)
  return text
}

const TOOL_NAME = /^[A-Za-z0-9_.-]{1,128}$/

function loaded(compilers: Compilers | undefined): Compilers {
  if (compilers === undefined) throw new Error('the compilers of the catalog are not loaded')
  return compilers
}

function collectTools(
  generation: GenerationView,
  compilers: Compilers | undefined,
  own: readonly ToolEntry[]
): ReadonlyMap<string, ToolEntry> {
  const tools = new Map<string, ToolEntry>()
  const add = (tool: ToolEntry): void => {
    const other = tools.get(tool.name)
    if (other !== undefined) throw conflict(tool.name, other, tool)
    assertName(tool.name, tool)
    tools.set(tool.name, tool)
  }
  for (const tool of own) add(tool)
  for (const entry of generation.operations.values()) if (entry.descriptor.expose.mcp) add(operationTool(entry))
  for (const contribution of generation.items(mcpTools)) add(loaded(compilers).rawTool(contribution))
  return new Map([...tools].sort(([a], [b]) => compare(a, b)))
}

function collectAliases(tools: ReadonlyMap<string, ToolEntry>): ReadonlyMap<string, ToolEntry> {
  const aliases = new Map<string, ToolEntry>()
  for (const tool of tools.values()) {
    for (const alias of tool.aliases) {
      const other = tools.get(alias) ?? aliases.get(alias)
      if (other !== undefined) throw conflict(alias, other, tool)
      assertName(alias, tool)
      aliases.set(alias, tool)
    }
  }
  return aliases
}

function conflict(name: string, { unit: one }: ToolEntry, { unit: other }: ToolEntry): Error {
  return mcpErrors.create(
    'MCP_TOOL_CONFLICT',
    `conflict on tool ${name}: ${one.name} and ${other.name} both offer it`,
    {
      data: { tool: name, owners: [one.name, other.name] },
      hint: `rename one, or run: svc plugins disable ${other.name}`
    }
  )
}

function assertName(name: string, { unit }: ToolEntry): void {
  if (TOOL_NAME.test(name)) return
  throw mcpErrors.create(
    'MCP_TOOL_NAME_INVALID',
    `${unit.name} offers a tool named "${name}"; MCP allows 1 to 128 characters from A-Za-z0-9_.-`,
    { hint: 'set expose.mcp.name of the operation, or rename the tool' }
  )
}

/** Marks a resource or prompt as read-only: reading it changes nothing, so every role may see it. */
function guarded<A extends { readonly scopes?: readonly string[] }>({
  item,
  unit
}: Contribution<A>): Guarded & { readonly item: A; readonly unit: UnitView } {
  return { item, unit, scopes: item.scopes ?? [], readOnly: true }
}

function sorted<A>(contributions: readonly Contribution<A>[], key: (item: A) => string): readonly Contribution<A>[] {
  return [...contributions].sort((a, b) => compare(key(a.item), key(b.item)))
}

/** Compares by code unit: the order must not depend on the locale of the machine. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
