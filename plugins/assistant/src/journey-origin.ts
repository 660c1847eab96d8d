import type { JourneyEnvelope } from '@svc/contracts'

/** Returns the origin surface of a journey. Calls over HTTP count as `mcp`: editors and chats use either. */
export function originOf(surface: string): JourneyEnvelope['origin_surface'] {
  if (surface === 'cli') return 'cli'
  if (surface === 'rpc') return 'daemon'
  return surface === 'internal' ? 'orchestrator' : 'mcp'
}
