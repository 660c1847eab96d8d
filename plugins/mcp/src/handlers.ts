import {
  type CallToolResult,
  type CompleteResult,
  type GetPromptResult,
  type InputRequiredResult,
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
  type Server,
  type ServerContext,
  type Tool
} from '@modelcontextprotocol/server'
import type { McpCompleter, McpPrincipal, McpPromptOutcome, McpReadOutcome, UnitView } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { findByName, type McpCatalog, type PromptEntry, type ResourceEntry, type TemplateEntry } from './catalog.ts'
import type { MintState } from './input-required.ts'
import { type Guarded, maySee, maySeeTool } from './principal.ts'
import { RequestCall } from './request-call.ts'
import { type CallListener, errorCodeOf, errorDetails, type ToolEntry } from './tool.ts'
import { isInputRequired } from './tool-call.ts'
import { isListed, type OutputSchemas, type ToolView } from './toolsets.ts'
import { unknownTool } from './unknown-tool.ts'

/** Context of a server's handlers. */
export interface Serving {
  /** Returns the catalog of the generation that serves now. */
  catalog(): McpCatalog
  readonly principal: McpPrincipal
  readonly subscriptions: Set<string>
  /** Returns the listener of calls that succeed; null if there is none. */
  listener(): CallListener | null
  readonly mint: MintState
  /**
   * Returns the tools that a client receives, by the name and the URL that it sent. Throws `MCP_TOOL_CHOICE_INVALID` and
   * `MCP_TOOLSET_UNKNOWN`.
   */
  view(client: string, url: string | undefined): ListView
}

/** Tools that a client receives, and how they are listed. */
export interface ListView extends ToolView {
  readonly outputSchemas: OutputSchemas
}

/** Replaces the handlers of an SDK server with ours. */
export function bindHandlers(server: Server, serving: Serving): void {
  const seen = <A extends Guarded>(entries: Iterable<A>): A[] =>
    [...entries].filter(each => maySee(serving.principal, each))
  const call = (context: ServerContext, subject: string): RequestCall =>
    new RequestCall(server, context, serving, subject)

  server.setRequestHandler('tools/list', (_request, context) => {
    const request = call(context, '')
    try {
      return { tools: listTools(serving, request.view) }
    } catch (error) {
      throw protocolError(error, request)
    }
  })
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = findTool(serving, params.name)
    const request = call(context, params.name)
    if (tool === null) {
      request.recordError('MCP_TOOL_UNKNOWN')
      return unknownTool(params.name, request.requestId)
    }
    request.demand(tool.requires)
    const result = await tool.run(params.arguments ?? {}, request)
    await request.flushed()
    if (isInputRequired(result)) return result as InputRequiredResult
    const code = errorCodeOf(result as CallToolResult)
    if (code !== null) request.recordError(code)
    if ((result as CallToolResult).isError !== true) serving.listener()?.(tool, params.arguments ?? {})
    return server.projectCallToolResult(result as never, tool.listing.outputSchema)
  })

  server.setRequestHandler('resources/list', async (_request, context) => {
    const { resources, templates } = serving.catalog()
    return listResources(seen(resources.values()), seen(templates), call(context, ''))
  })
  server.setRequestHandler(
    'resources/templates/list',
    () =>
      ({
        resourceTemplates: seen(serving.catalog().templates).map(describeTemplate)
      }) satisfies ListResourceTemplatesResult
  )
  server.setRequestHandler('resources/read', async ({ params }, context) => {
    const request = call(context, params.uri)
    const outcome = await readResource(serving, params.uri, request)
    return settle<ReadResourceResult>(outcome, request)
  })
  server.setRequestHandler('resources/subscribe', ({ params }) => {
    serving.subscriptions.add(params.uri)
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', ({ params }) => {
    serving.subscriptions.delete(params.uri)
    return {}
  })

  server.setRequestHandler('prompts/list', () => ({
    prompts: seen(serving.catalog().prompts.values()).map(describePrompt)
  }))
  server.setRequestHandler('prompts/get', async ({ params }, context) => {
    const prompt = findPrompt(serving, params.name)
    const request = call(context, params.name)
    const outcome = await getPrompt(prompt, params.arguments ?? {}, request)
    return settle<GetPromptResult>(outcome, request)
  })

  server.setRequestHandler('completion/complete', async ({ params }) => {
    const { ref, argument, context } = params
    const completer =
      ref.type === 'ref/prompt'
        ? findPrompt(serving, ref.name).item.arguments?.find(each => each.name === argument.name)?.complete
        : findTemplate(serving, ref.uri)?.item.complete?.[argument.name]
    return complete(completer, argument.value, context?.arguments ?? {})
  })
}

/** Returns the listed tools, without the schemas of their outputs unless the client requested them. */
function listTools({ catalog, principal }: Serving, view: ListView): Tool[] {
  const tools = [...catalog().tools.values()].filter(
    tool => maySeeTool(principal, tool) && tool.available() && isListed(view, tool)
  )
  return tools.map(({ listing }) => (view.outputSchemas === 'full' ? listing : withoutOutput(listing)))
}

const short = new WeakMap<Tool, Tool>()

/** Returns a listing without the schema of the output. Cached: consecutive generations list nearly the same tools. */
function withoutOutput(listing: Tool): Tool {
  const { outputSchema, ...rest } = listing
  if (outputSchema === undefined) return listing
  const found = short.get(listing) ?? rest
  short.set(listing, found)
  return found
}

/** Finds a tool; null if the principal sees no tool of that name. */
function findTool({ catalog, principal }: Serving, name: string): ToolEntry | null {
  const tool = findByName(catalog(), name)
  return tool !== undefined && maySeeTool(principal, tool) && tool.available() ? tool : null
}

function findPrompt({ catalog, principal }: Serving, name: string): PromptEntry {
  const prompt = catalog().prompts.get(name)
  if (prompt !== undefined && maySee(principal, prompt)) return prompt
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown prompt: ${name}`)
}

/** Finds a template; undefined for a plain resource, which has no completions. */
function findTemplate({ catalog, principal }: Serving, uri: string): TemplateEntry | undefined {
  const template = catalog().templates.find(each => each.item.uriTemplate === uri)
  if (template !== undefined && maySee(principal, template)) return template
  if (catalog().resources.has(uri)) return undefined
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown resource template: ${uri}`)
}

async function listResources(
  resources: readonly ResourceEntry[],
  templates: readonly TemplateEntry[],
  call: RequestCall
): Promise<ListResourcesResult> {
  const listed = resources.map(({ item }) => describeResource(item))
  for (const { item, unit } of templates) {
    if (item.list === undefined) continue
    const members = await inside(unit, call, async () => item.list?.(call))
    for (const member of members ?? []) listed.push({ ...describeFamily(item), ...member })
  }
  return { resources: listed }
}

async function readResource({ catalog, principal }: Serving, uri: string, call: RequestCall): Promise<McpReadOutcome> {
  const { resources, templates } = catalog()
  const resource = resources.get(uri)
  if (resource !== undefined && maySee(principal, resource)) {
    return inside(resource.unit, call, async () => resource.item.read(call))
  }
  for (const { item, uriTemplate, unit, ...guard } of templates) {
    const variables = maySee(principal, guard) ? uriTemplate.match(uri) : null
    if (variables !== null) return inside(unit, call, async () => item.read(uri, variables, call))
  }
  throw new ResourceNotFoundError(uri)
}

async function getPrompt(
  { item, unit }: PromptEntry,
  args: Record<string, string>,
  call: RequestCall
): Promise<McpPromptOutcome> {
  const missing = (item.arguments ?? []).filter(each => each.required && args[each.name] === undefined)
  if (missing.length > 0) {
    const names = missing.map(each => each.name).join(', ')
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The prompt ${item.name} lacks the argument ${names}`)
  }
  return inside(unit, call, async () => item.get(args, call))
}

async function settle<R>(outcome: unknown, call: RequestCall): Promise<R | InputRequiredResult> {
  const result = isInputRequired(outcome) ? await call.seal(outcome) : (outcome as R)
  await call.flushed()
  return result
}

const MAX_SUGGESTIONS = 100

async function complete(
  completer: McpCompleter | undefined,
  value: string,
  context: Record<string, string>
): Promise<CompleteResult> {
  const found = completer === undefined ? [] : await completer(value, context)
  const values = found.slice(0, MAX_SUGGESTIONS)
  return { completion: { values, total: found.length, hasMore: found.length > values.length } }
}

/** Runs work of a unit: counts it as in flight, and converts its errors to protocol errors. */
async function inside<A>(unit: UnitView, call: RequestCall, run: () => Promise<A>): Promise<A> {
  unit.enter()
  try {
    return await run()
  } catch (error) {
    throw protocolError(error, call)
  } finally {
    unit.exit()
  }
}

function protocolError(error: unknown, call: RequestCall): unknown {
  if (!isSvcError(error)) return error
  call.recordError(error.code)
  if (error.code === 'MCP_RESOURCE_NOT_FOUND')
    return new ResourceNotFoundError(String((error.data as { uri?: unknown })?.uri))
  const code = error.status < 500 ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError
  return new ProtocolError(code, error.message, errorDetails(error, call.requestId))
}

function describeFamily({
  title,
  description,
  mimeType,
  annotations,
  icons
}: ResourceEntry['item'] | TemplateEntry['item']) {
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(annotations === undefined ? {} : { annotations: annotations as NonNullable<Resource['annotations']> }),
    ...(icons === undefined ? {} : { icons: icons as NonNullable<Resource['icons']> })
  }
}

function describeResource(item: ResourceEntry['item']): Resource {
  const { uri, name, size, _meta } = item
  return {
    uri,
    name,
    ...describeFamily(item),
    ...(size === undefined ? {} : { size }),
    ...(_meta === undefined ? {} : { _meta: _meta as NonNullable<Resource['_meta']> })
  }
}

function describeTemplate({ item }: TemplateEntry): ResourceTemplateType {
  const { uriTemplate, name, _meta } = item
  return {
    uriTemplate,
    name,
    ...describeFamily(item),
    ...(_meta === undefined ? {} : { _meta: _meta as NonNullable<ResourceTemplateType['_meta']> })
  }
}

function describePrompt({ item }: PromptEntry): Prompt {
  const { name, title, description, icons, _meta } = item
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    arguments: (item.arguments ?? []).map(({ complete: _complete, ...argument }) => argument),
    ...(icons === undefined ? {} : { icons: icons as NonNullable<Prompt['icons']> }),
    ...(_meta === undefined ? {} : { _meta: _meta as NonNullable<Prompt['_meta']> })
  }
}
