import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { point } from '@svc/plugin-sdk'
import type { HttpCaller } from './caller.ts'

/**
 * Websocket endpoints. The handshake passes the listener's guard; then the plugin owns the socket. When the plugin is
 * replaced, it closes open sockets with code 1012, so that clients reconnect to its successor.
 */
export const httpUpgrades = point<HttpUpgrade>('http.upgrades', {
  keys: item => [`${item.listener ?? 'main'} ${item.path}`]
})

export interface HttpUpgrade {
  /** The listener that accepts the handshake; default `main`. */
  readonly listener?: string
  /** Exact path without a query. */
  readonly path: string
  /**
   * `shared`: the handshake needs the listener's bearer token, if it has one. `own`: the plugin checks the caller; the
   * listener still checks the Host and Origin headers. Default `shared`.
   */
  readonly auth?: 'shared' | 'own'
  handle(request: IncomingMessage, socket: Duplex, head: Buffer, caller: HttpCaller): void
}
