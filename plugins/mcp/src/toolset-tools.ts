import type { CallToolResult } from '@modelcontextprotocol/server'
import type { McpPrincipal, UnitView } from '@svc/contracts'
import { t } from '@svc/plugin-sdk'
import { findByName, type McpCatalog } from './catalog.ts'
import { mcpErrors } from './errors.ts'
import { maySeeTool } from './principal.ts'
import { errorResult, objectSchema, type ToolEntry } from './tool.ts'
import type { ToolCall } from './tool-call.ts'
import {
  ALL_TOOLSETS,
  ALWAYS_LISTED,
  DEFAULT_TOOLSET,
  isListed,
  isToolset,
  toolsetsOf,
  unknownToolset
} from './toolsets.ts'

/** Names of the tools by which a model finds and adds tools. Every client receives them. */
const LIST_TOOLSETS = 'svc_list_toolsets'
const ENABLE_TOOLSET = 'svc_enable_toolset'
const DESCRIBE_TOOL = 'svc_describe_tool'

interface Definition {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: Parameters<typeof objectSchema>[0]
  readonly readOnly: boolean
  run(args: Record<string, unknown>, call: ToolCall): unknown
}

/** Returns the tools by which a model widens its list of tools. `catalog`: that of the serving generation. */
export function toolsetTools(unit: UnitView, catalog: () => McpCatalog): readonly ToolEntry[] {
  const visible = (principal: McpPrincipal): readonly ToolEntry[] =>
    [...catalog().tools.values()].filter(tool => maySeeTool(principal, tool) && tool.available())
  const definitions: readonly Definition[] = [
    {
      name: LIST_TOOLSETS,
      title: 'List toolsets',
      description: `List the groups of tools of this server, also those that are not in your list.\n\nCall it when no tool in your list fits the work. With a toolset, it lists the tools of that group. Add a group with ${ENABLE_TOOLSET}.`,
      input: t.object({
        toolset: t.optional(t.string({ description: 'Name of a toolset whose tools are listed. Default: all names.' }))
      }),
      readOnly: true,
      run: ({ toolset }, { principal, view }) => {
        const tools = visible(principal)
        if (toolset === undefined) return { toolsets: listToolsets(tools, view) }
        const found = toolsetsOf(tools).find(({ name }) => name === toolset)
        if (found === undefined) throw unknownToolset(String(toolset), tools, 'toolset')
        const { name, description } = found
        return { toolset: name, description, tools: found.tools.map(each => shortOf(each, view)) }
      }
    },
    {
      name: ENABLE_TOOLSET,
      title: 'Enable a toolset',
      description: `Add a group of tools to your list of tools, until the connection ends.\n\nCall it after ${LIST_TOOLSETS}; then read the list of tools again. It grants no rights: a tool that you may not use stays hidden.`,
      input: t.object({
        toolset: t.string({ description: 'Name of a toolset, or "all" for every tool.' })
      }),
      readOnly: true,
      run: ({ toolset }, { principal, view }) => {
        const tools = visible(principal)
        const name = String(toolset)
        if (!isToolset(name, tools)) throw unknownToolset(name, tools, 'toolset')
        if (view === undefined)
          throw mcpErrors.create('MCP_CLIENT_NEEDED', 'this surface lists all tools that the caller may use')
        const added = tools.filter(
          tool => !isListed(view, tool) && (name === ALL_TOOLSETS || tool.toolsets.includes(name))
        )
        view.enable(name)
        return { toolset: name, added: added.map(each => each.name) }
      }
    },
    {
      name: DESCRIBE_TOOL,
      title: 'Describe a tool',
      description:
        'Show the complete description of one tool, with the schemas of its input and of its output.\n\nCall it for a tool that is not in your list, or to see the fields of a result before you use them.',
      input: t.object({ tool: t.string({ description: 'Name or alias of the tool, for example svc_submit_task.' }) }),
      readOnly: true,
      run: ({ tool }, { principal, view }) => {
        const found = findByName(catalog(), String(tool))
        if (found === undefined || !maySeeTool(principal, found) || !found.available())
          throw mcpErrors.create('MCP_TOOL_UNKNOWN', `unknown tool: ${String(tool).slice(0, 128)}`, {
            hint: `${LIST_TOOLSETS} lists the toolsets and their tools`
          })
        const { name, description, inputSchema, outputSchema } = found.listing
        const toolsets = [...found.toolsets]
        return { name, description, toolsets, listed: listed(found, view), inputSchema, outputSchema }
      }
    }
  ]
  return definitions.map(each => entryOf(each, unit))
}

function listToolsets(tools: readonly ToolEntry[], view: ToolCall['view']) {
  return toolsetsOf(tools).map(({ name, description, tools: members }) => ({
    name,
    description,
    tools: members.length,
    listed: members.every(each => listed(each, view))
  }))
}

function listed(tool: ToolEntry, view: ToolCall['view']): boolean {
  return view === undefined || isListed(view, tool)
}

function shortOf(tool: ToolEntry, view: ToolCall['view']) {
  const [summary = ''] = (tool.listing.description ?? '').split('\n', 1)
  return { name: tool.name, summary, listed: listed(tool, view) }
}

const TOOLSETS: readonly string[] = [DEFAULT_TOOLSET, ALWAYS_LISTED]

function entryOf({ name, title, description, input, readOnly, run }: Definition, unit: UnitView): ToolEntry {
  const fields = Object.entries((input.properties ?? {}) as Readonly<Record<string, unknown>>)
  const required = (input.required ?? []) as readonly string[]
  const check = (args: Record<string, unknown>): void => {
    const known = fields.map(([key]) => key)
    const wrong = Object.keys(args).find(key => !known.includes(key) || typeof args[key] !== 'string')
    const missing = required.find(key => args[key] === undefined)
    if (wrong === undefined && missing === undefined) return
    const problem = wrong === undefined ? `${missing} is missing` : `${wrong} is unknown or not a string`
    throw mcpErrors.create('MCP_ARGUMENTS_INVALID', `invalid arguments for ${name}: ${problem}`, {
      hint: `the arguments are: ${known.join(', ')}`
    })
  }
  return {
    name,
    unit,
    listing: {
      name,
      title,
      description,
      inputSchema: objectSchema(input),
      annotations: { title, readOnlyHint: readOnly, destructiveHint: false, idempotentHint: true }
    },
    scopes: [],
    readOnly,
    aliases: [],
    lane: 'platform',
    tier: 'core',
    readRole: false,
    toolsets: TOOLSETS,
    requires: {},
    available: () => true,
    run: async (args, call) => {
      try {
        check(args)
        return resultOf(run(args, call))
      } catch (error) {
        return errorResult(error, call.requestId)
      }
    }
  }
}

function resultOf(output: unknown): CallToolResult {
  const text = JSON.stringify(output)
  return { content: [{ type: 'text', text }], structuredContent: JSON.parse(text) }
}
