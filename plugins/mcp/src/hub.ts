import { randomBytes } from 'node:crypto'
import {
  createRequestStateCodec,
  type McpRequestContext,
  type McpServer,
  type RequestStateCodec,
  type Server,
  type WebStandardStreamableHTTPServerTransport
} from '@modelcontextprotocol/server'
import type { McpChange, McpPrincipal } from '@svc/contracts'
import type { CatalogFingerprint } from './catalog.ts'
import type { SealedState } from './input-required.ts'

/** A server that stays with its client: a stdio connection or a session of the 2025 protocol over HTTP. */
export interface LiveServer {
  readonly server: Server
  /** Of its newest request: what a session may have can change while it lasts. */
  principal: McpPrincipal
  readonly era: 'legacy' | 'modern'
  /** URIs that a client of the 2025 protocol subscribed to. */
  readonly subscriptions: Set<string>
  /** Whether notices reach the client; over HTTP it opens a stream for them when it likes. */
  listening: boolean
  /** Notices that it missed, by their subject. */
  readonly missed: Map<string, McpChange>
}

export interface HttpSession {
  readonly id: string
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly live: LiveServer
  /** The newest stream of notices, while it is open. */
  stream: object | null
  /** Exchanges under way, open streams among them. */
  open: number
  /** Milliseconds since the epoch. */
  lastUsed: number
}

/**
 * State that outlives a reload of this plugin. It is data only: the unit that serves puts its handlers onto the
 * live servers, so that no code of a former unit answers anything new.
 */
export interface McpHub {
  readonly codec: RequestStateCodec<SealedState>
  readonly live: Set<LiveServer>
  readonly sessions: Map<string, HttpSession>
  /** Those of other plugins who want to know when the list of tools may have changed. */
  readonly toolListeners: Set<() => void>
  /** Last announced state, or null before the first generation. */
  announced: CatalogFingerprint | null
  /** The unit that serves, or null before the first generation. */
  owner: HubOwner | null
}

export interface HubOwner {
  /** A server that stays with its client until either closes it. */
  lasting(context: McpRequestContext, principal: McpPrincipal): McpServer
  /** Another unit takes over: let go of what would wait for notices. */
  retire(): void
}

/** Rounds of one call must follow each other within this time. */
const STATE_TTL_SECONDS = 600

export function openHub(): McpHub {
  return {
    codec: createRequestStateCodec<SealedState>({ key: randomBytes(32), ttlSeconds: STATE_TTL_SECONDS }),
    live: new Set(),
    sessions: new Map(),
    toolListeners: new Set(),
    announced: null,
    owner: null
  }
}

/** Ends every session and connection. Resolves when all of them are closed. */
export async function closeHub(hub: McpHub): Promise<void> {
  const open = [...hub.live]
  hub.live.clear()
  hub.sessions.clear()
  await Promise.allSettled(open.map(live => live.server.close()))
}
