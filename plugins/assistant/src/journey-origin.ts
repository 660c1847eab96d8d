import type { JourneyEnvelope } from '@svc/contracts'

/** Origin of a call, as a journey records it. Editors and chats both come over MCP and HTTP. */
export function originOf(surface: string): JourneyEnvelope['origin_surface'] {
  if (surface === 'cli') return 'cli'
  if (surface === 'rpc') return 'daemon'
  return surface === 'internal' ? 'orchestrator' : 'mcp'
}
