import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import { mcpToolName, type OperationEntry } from '@svc/contracts'
import type { OperationDescriptor } from '@svc/plugin-sdk'
import { EventProgress } from './event-progress.ts'
import type { RequestCall } from './request-call.ts'
import { errorResult, objectSchema, type ToolEntry } from './tool.ts'

const tools = new WeakMap<OperationEntry, ToolEntry>()
const listings = new WeakMap<OperationDescriptor, Tool>()

/**
 * An operation with `expose.mcp` as a tool: same schemas, same errors, same door. Made once for an operation, which serves in
 * many generations, and listed alike as long as the same declares it.
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
  return {
    name: listing.name,
    unit,
    listing,
    scopes: descriptor.scopes,
    readOnly: descriptor.effect === 'read',
    requires: {},
    available: () => true,
    run: (args, call) => runOperation(entry, args, call)
  }
}

async function runOperation(
  entry: OperationEntry,
  args: Record<string, unknown>,
  call: RequestCall
): Promise<CallToolResult> {
  const progress = new EventProgress(call)
  try {
    const output = await entry.invoke(args, {
      surface: 'mcp',
      principal: call.principal,
      signal: call.signal,
      ...(call.traceparent === undefined ? {} : { traceparent: call.traceparent }),
      onEvent: event => progress.event(event),
      onProgress: (done, total, message) => progress.report(done, total, message)
    })
    return { content: [{ type: 'text', text: JSON.stringify(output) }], structuredContent: output }
  } catch (error) {
    return errorResult(error)
  }
}

function describe(descriptor: OperationDescriptor): Tool {
  const { summary, description, input, output, effect, idempotent, expose } = descriptor
  const { title } = typeof expose.mcp === 'object' ? expose.mcp : {}
  return {
    name: mcpToolName(descriptor),
    ...(title === undefined ? {} : { title }),
    description: description === undefined ? summary : `${summary}\n\n${description}`,
    inputSchema: objectSchema(input),
    outputSchema: output as NonNullable<Tool['outputSchema']>,
    annotations: {
      ...(title === undefined ? {} : { title }),
      readOnlyHint: effect === 'read',
      destructiveHint: effect === 'destructive',
      idempotentHint: idempotent
    }
  }
}
