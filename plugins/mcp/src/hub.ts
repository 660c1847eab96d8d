import { randomBytes } from 'node:crypto'
import type {
  McpRequestContext,
  McpServer,
  Server,
  WebStandardStreamableHTTPServerTransport
} from '@modelcontextprotocol/server'
import type { McpChange, McpPrincipal } from '@svc/contracts'
import type { CatalogFingerprint } from './catalog.ts'
import type { ToolChoice } from './toolsets.ts'

/** Long-lived server: a stdio connection, or a 2025 session over HTTP. */
export interface LiveServer {
  readonly server: Server
  /** Principal of the newest request: the rights of a session can change. */
  principal: McpPrincipal
  readonly era: 'legacy' | 'modern'
  /** URIs subscribed by a 2025 client. */
  readonly subscriptions: Set<string>
  /** True if notifications reach the client; over HTTP only while it has a stream open. */
  listening: boolean
  /** Choice of its command line. */
  readonly choice: ToolChoice
  /** Toolsets that the client enabled; null for a server of one request, see {@link McpHub.enabled}. */
  enabled: Set<string> | null
  /** Missed notifications, by subject. */
  readonly missed: Map<string, McpChange>
}

export interface HttpSession {
  readonly id: string
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly live: LiveServer
  /** The newest open notification stream. */
  stream: object | null
  /** Running exchanges, including open streams. */
  open: number
  /** Unix milliseconds of the last exchange. */
  lastUsed: number
}

/**
 * State that outlives a reload of this plugin. The serving unit installs its handlers on the live servers, so that no
 * code of an old unit handles requests.
 */
export interface McpHub {
  /** Signs request states, so that every unit can verify them. */
  readonly stateKey: Uint8Array
  readonly live: Set<LiveServer>
  readonly sessions: Map<string, HttpSession>
  /** Listeners of other plugins for possible changes of the tool list. */
  readonly toolListeners: Set<() => void>
  /** Toolsets that clients without a connection enabled, by principal and name of the client. */
  readonly enabled: Map<string, Set<string>>
  /** Last announced state, or null before the first generation. */
  announced: CatalogFingerprint | null
  /** The unit that serves, or null before the first generation. */
  owner: HubOwner | null
}

export interface HubOwner {
  /** Creates a long-lived server, which stays until either side closes it. */
  lasting(context: McpRequestContext, principal: McpPrincipal, choice?: ToolChoice): Promise<McpServer>
  /** Ends open notification streams, because another unit takes over. */
  retire(): void
}

export function openHub(): McpHub {
  return {
    stateKey: randomBytes(32),
    live: new Set(),
    sessions: new Map(),
    toolListeners: new Set(),
    enabled: new Map(),
    announced: null,
    owner: null
  }
}

/** Maximum clients without a connection whose toolsets are kept; at the limit, the first one is dropped. */
const MAX_ENABLED_CLIENTS = 1024

/** Returns the toolsets that a client enabled. A client without a connection is known by its principal and its name. */
export function enabledToolsets(
  { enabled }: Pick<McpHub, 'enabled'>,
  live: LiveServer,
  client: string
): { readonly names: ReadonlySet<string>; add(name: string): void } {
  if (live.enabled !== null) return { names: live.enabled, add: name => void live.enabled?.add(name) }
  const key = JSON.stringify([live.principal.id, client])
  const names = enabled.get(key) ?? new Set<string>()
  return {
    names,
    add(name) {
      names.add(name)
      enabled.delete(key)
      enabled.set(key, names)
      const [first] = enabled.keys()
      if (enabled.size > MAX_ENABLED_CLIENTS && first !== undefined) enabled.delete(first)
    }
  }
}

/** Drops sessions without an exchange since `oldest`, in Unix milliseconds. */
export function dropIdleSessions(hub: McpHub, oldest: number): void {
  for (const session of hub.sessions.values())
    if (session.open === 0 && session.lastUsed < oldest) void session.live.server.close()
}

/** Ends the notification streams of the sessions; their clients reconnect to the serving unit. */
export function endSessionStreams(hub: McpHub): void {
  for (const session of hub.sessions.values()) {
    session.transport.closeStandaloneSSEStream()
    stopListening(session)
  }
}

/** Marks a session's client as not listening: its notifications are kept until it opens another stream. */
export function stopListening(session: HttpSession): void {
  session.stream = null
  session.live.listening = false
}

/** Ends every session and connection. Resolves when all of them are closed. */
export async function closeHub(hub: McpHub): Promise<void> {
  const open = [...hub.live]
  hub.live.clear()
  hub.sessions.clear()
  await Promise.allSettled(open.map(live => live.server.close()))
}
