import { type KernelAdmin, type KernelPort, type McpToolHints, mcpToolName, mcpTools } from '@svc/contracts'
import type { Effect, OperationDescriptor } from '@svc/plugin-sdk'

/** `unknown`: there is no tool of that name, so any effect is possible. */
export type MutationKind = 'read_only' | 'write' | 'destructive' | 'unknown'

const KINDS: Readonly<Record<Effect, MutationKind>> = { read: 'read_only', write: 'write', destructive: 'destructive' }

/**
 * Declared effect of a tool, from its operation or its plugin. It is named by its MCP name or its
 * operation id. Tools of enabled plugins count even if the process runs without them, as for a single command.
 */
export function mutationKindOf(
  tool: string,
  { port, admin }: { readonly port: KernelPort | undefined; readonly admin: KernelAdmin | undefined }
): MutationKind {
  const generation = port?.current
  for (const { descriptor } of generation?.operations.values() ?? []) {
    if (isNamed(descriptor, tool)) return KINDS[descriptor.effect]
  }
  const raw = generation?.items(mcpTools).find(({ item }) => item.name === tool)
  if (raw !== undefined) return kindOf(raw.item.hints)
  for (const { name, state } of admin?.plugins() ?? []) {
    if (state === 'disabled' || state === 'invalid') continue
    const declared = admin?.manifest(name)?.operations.find(each => isNamed(each, tool))
    if (declared !== undefined) return KINDS[declared.effect]
  }
  return 'unknown'
}

function isNamed(descriptor: OperationDescriptor, tool: string): boolean {
  return descriptor.id === tool || (Boolean(descriptor.expose.mcp) && mcpToolName(descriptor) === tool)
}

/** A tool without a declaration is not assumed harmless. */
function kindOf({ readOnly = false, destructive = false }: McpToolHints = {}): MutationKind {
  if (readOnly) return 'read_only'
  return destructive ? 'destructive' : 'write'
}
