import { type KernelAdmin, type KernelPort, type McpToolHints, mcpToolName, mcpTools } from '@svc/contracts'
import type { Effect, OperationDescriptor } from '@svc/plugin-sdk'

/** Effect of a tool. `unknown` means that no such tool exists, so any effect is possible. */
export type MutationKind = 'read_only' | 'write' | 'destructive' | 'unknown'

const KINDS: Readonly<Record<Effect, MutationKind>> = { read: 'read_only', write: 'write', destructive: 'destructive' }

/**
 * Returns the declared effect of a tool, by MCP name or operation id. Also finds tools of enabled plugins that are
 * not loaded, as in the process of a single command.
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

/** Returns the kind of a raw MCP tool; `write` if it declares nothing. */
function kindOf({ readOnly = false, destructive = false }: McpToolHints = {}): MutationKind {
  if (readOnly) return 'read_only'
  return destructive ? 'destructive' : 'write'
}
