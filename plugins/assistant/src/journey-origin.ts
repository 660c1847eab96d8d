import type { JourneyEnvelope } from '@svc/contracts'

/** Where a call came in, as a journey tells it. Editors and chats come over MCP and HTTP alike. */
export function originOf(surface: string): JourneyEnvelope['origin_surface'] {
  if (surface === 'cli') return 'cli'
  if (surface === 'rpc') return 'daemon'
  return surface === 'internal' ? 'orchestrator' : 'mcp'
}
