import { type GenerationView, type McpPrincipal, mcpToolNames, mcpTools } from '@svc/contracts'
import { closest, distance } from 'fastest-levenshtein'
import { gatewayErrors } from '../errors.ts'
import type { Role } from '../gate/role.ts'
import type { Settings } from '../settings.ts'
import { DEFAULT_TOOLS } from './default-tools.ts'

/** Tools of each role in one generation. */
export interface Allowed {
  readonly principals: Readonly<Record<Role, McpPrincipal>>
  /** Allowed names that no active plugin offers. */
  readonly missing: readonly string[]
}

export type AllowlistSettings = Pick<Settings, 'allowed_tools' | 'read_role_allowed_tools'>
type Generation = Pick<GenerationView, 'operations' | 'items'>

/** Returns the tools of a generation that the lists allow. */
export function allowedTools(settings: AllowlistSettings, generation: Generation): Allowed {
  const offered = offeredNames(generation)
  const configured = settings.allowed_tools ?? DEFAULT_TOOLS
  const allowed = canonical(configured, offered)
  const eligible = eligibleNames(generation)
  const readers = settings.read_role_allowed_tools
  const held = readers === undefined ? allowed : canonical(readers, offered)
  const forReaders = [...allowed].filter(name => eligible.has(name) && held.has(name))
  return {
    principals: {
      write: { id: 'gateway', role: 'owner', scopes: ['*'], tools: allowed },
      read: { id: 'gateway-read', role: 'read', scopes: ['*'], tools: new Set(forReaders) }
    },
    missing: configured.filter(name => !offered.has(name))
  }
}

/**
 * Throws `GWY_TOOL_UNKNOWN` if a list has a name that no plugin knows. `known`: also tools of plugins that are disabled
 * or have failed.
 */
export function assertKnown(settings: AllowlistSettings, generation: Generation, known: ReadonlySet<string>): void {
  const names = new Set([...offeredNames(generation).keys(), ...known, ...DEFAULT_TOOLS])
  for (const key of ['allowed_tools', 'read_role_allowed_tools'] as const) {
    for (const name of settings[key] ?? []) {
      if (names.has(name)) continue
      throw gatewayErrors.create(
        'GWY_TOOL_UNKNOWN',
        `${key} of [plugins.mcp-gateway] (${VARIABLES[key]}) names the tool "${name}", which does not exist`,
        { at: { path: `plugins.mcp-gateway.${key}` }, data: { tool: name }, hint: hintFor(name, [...names]) }
      )
    }
  }
}

const VARIABLES = {
  allowed_tools: 'SVC_MCP_HTTP_ALLOWED_TOOLS',
  read_role_allowed_tools: 'SVC_MCP_HTTP_READ_ROLE_ALLOWED_TOOLS'
}

function hintFor(name: string, names: readonly string[]): string {
  const prefixed = `svc_${name}`
  const nearest = names.includes(prefixed) ? prefixed : closest(name, names)
  const near = distance(name, nearest) <= Math.max(4, name.length / 3)
  const see = 'contracts/mcp/tool-registry.canonical.yaml lists all names'
  return near ? `did you mean ${nearest}? ${see}` : see
}

/** Maps every name and alias to its canonical name. */
function offeredNames(generation: Generation): ReadonlyMap<string, string> {
  const names = mcpToolNames([...generation.operations.values()].map(({ descriptor }) => descriptor))
  for (const { item } of generation.items(mcpTools)) names.set(item.name, item.name)
  return names
}

function eligibleNames({ operations }: Generation): ReadonlySet<string> {
  const descriptors = [...operations.values()].map(({ descriptor }) => descriptor)
  const eligible = descriptors.filter(({ expose: { mcp } }) => typeof mcp === 'object' && mcp.readRole === true)
  return new Set(mcpToolNames(eligible).values())
}

function canonical(names: readonly string[], offered: ReadonlyMap<string, string>): ReadonlySet<string> {
  return new Set(names.flatMap(name => offered.get(name) ?? []).sort())
}
