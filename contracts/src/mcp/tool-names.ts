import { mcpToolName, type OperationDescriptor } from '@svc/plugin-sdk'

/** Maps every tool name of operations, aliases included, to the name under which the tool is listed. */
export function mcpToolNames(operations: Iterable<Pick<OperationDescriptor, 'id' | 'expose'>>): Map<string, string> {
  const names = new Map<string, string>()
  for (const descriptor of operations) {
    const { mcp } = descriptor.expose
    if (!mcp) continue
    const name = mcpToolName(descriptor)
    names.set(name, name)
    for (const alias of typeof mcp === 'object' ? (mcp.aliases ?? []) : []) names.set(alias, name)
  }
  return names
}
