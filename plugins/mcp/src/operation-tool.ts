import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import { mcpToolName, type OperationEntry } from '@svc/contracts'
import type { JsonSchema, McpExposure, OperationDescriptor } from '@svc/plugin-sdk'
import { OperationCall } from './operation-call.ts'
import { errorResult, objectSchema, type ToolEntry } from './tool.ts'
import { failed, succeeded, toolResultSchema } from './tool-result.ts'
import { DEFAULT_TOOLSET } from './toolsets.ts'

/** Default lane of an operation. */
export const DEFAULT_LANE = 'platform'
export const DEFAULT_TIER = 'core'

const tools = new WeakMap<OperationEntry, ToolEntry>()
const listings = new WeakMap<OperationDescriptor, Tool>()

/**
 * Returns the tool of an operation with `expose.mcp`, with the same schemas, errors and checks. Created once per
 * operation, and reused across generations while the declaration stays the same.
 */
export function operationTool(entry: OperationEntry): ToolEntry {
  const tool = tools.get(entry) ?? newTool(entry)
  tools.set(entry, tool)
  return tool
}

function newTool(entry: OperationEntry): ToolEntry {
  const { descriptor, unit } = entry
  const listing = listings.get(descriptor) ?? describe(descriptor)
  listings.set(descriptor, listing)
  const exposure = exposureOf(descriptor)
  const enveloped = exposure.result === 'tool-result'
  return {
    name: listing.name,
    unit,
    listing,
    scopes: descriptor.scopes,
    readOnly: descriptor.effect === 'read',
    aliases: exposure.aliases ?? [],
    lane: exposure.lane ?? DEFAULT_LANE,
    tier: exposure.tier ?? DEFAULT_TIER,
    readRole: exposure.readRole ?? false,
    toolsets: exposure.toolsets ?? [DEFAULT_TOOLSET, unit.name],
    requires: {},
    available: () => true,
    run: enveloped
      ? (args, call) =>
          entry.invoke(args, new OperationCall(call)).then(
            output => succeeded(output, exposure),
            error => failed(error, call.requestId)
          )
      : (args, call) =>
          entry.invoke(args, new OperationCall(call)).then(plainResult, error => errorResult(error, call.requestId))
  }
}

/** Returns a result without the envelope. The text is created on first use: not every surface needs it. */
function plainResult(output: unknown): CallToolResult {
  return {
    get content() {
      return [{ type: 'text' as const, text: JSON.stringify(output) }]
    },
    structuredContent: output as NonNullable<CallToolResult['structuredContent']>
  }
}

/** Returns the schema without hidden fields, which are accepted but not listed. */
function withoutHidden(input: JsonSchema): JsonSchema {
  const properties = Object.entries((input.properties ?? {}) as Readonly<Record<string, JsonSchema>>)
  const shown = properties.filter(([, field]) => field['x-hidden'] !== true)
  return shown.length === properties.length ? input : { ...input, properties: Object.fromEntries(shown) }
}

function exposureOf({ expose: { mcp } }: OperationDescriptor): McpExposure {
  return typeof mcp === 'object' ? mcp : {}
}

function describe(descriptor: OperationDescriptor): Tool {
  const { summary, description, input, output, effect, idempotent } = descriptor
  const exposure = exposureOf(descriptor)
  const { title } = exposure
  return {
    name: mcpToolName(descriptor),
    ...(title === undefined ? {} : { title }),
    description: [summary, description, exposure.use].filter(text => text !== undefined).join('\n\n'),
    inputSchema: objectSchema(withoutHidden(input)),
    outputSchema:
      exposure.result === 'tool-result'
        ? toolResultSchema(output, exposure)
        : (output as NonNullable<Tool['outputSchema']>),
    annotations: {
      ...(title === undefined ? {} : { title }),
      readOnlyHint: effect === 'read',
      destructiveHint: effect === 'destructive',
      idempotentHint: idempotent
    }
  }
}
