import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** Request in flight on a socket. */
export interface SocketRequest {
  readonly response: ServerResponse
  /** Previous request on the socket that is still in flight, or null. */
  previous: SocketRequest | null
  /** Called when the socket has closed. */
  lose(): void
}

// Sockets outlive a reload of this plugin: old and new code must use the same property.
const LAST = Symbol.for('svc.http.carried')
/** Socket with its last request, the head of a linked list: an array would be an allocation per request. */
type RequestHolder = Duplex & { [LAST]?: SocketRequest | null }

/** Records a request whose head has arrived. A client may send several before the first response (pipelining). */
export function addRequest(socket: Duplex, request: SocketRequest): void {
  const holder = socket as RequestHolder
  request.previous = holder[LAST] ?? null
  holder[LAST] = request
}

/** Removes an ended request: an idle connection must not keep the request and its generation in memory. */
export function removeRequest(socket: Duplex, request: SocketRequest): void {
  const holder = socket as RequestHolder
  if (holder[LAST] === request) {
    holder[LAST] = request.previous
    return
  }
  for (const each of requestsOn(socket)) {
    if (each.previous === request) each.previous = request.previous
  }
}

/** Yields the requests in flight on a socket, newest first. */
export function* requestsOn(socket: Duplex): Iterable<SocketRequest> {
  for (let each = (socket as RequestHolder)[LAST] ?? null; each !== null; each = each.previous) yield each
}

export function lastRequestOn(socket: Duplex): SocketRequest | null {
  return (socket as RequestHolder)[LAST] ?? null
}

/** Returns whether a complete request head has ever arrived on the socket. */
export function hasSentRequest(socket: Duplex): boolean {
  return LAST in socket
}

/**
 * Notifies every request in flight on a closed socket. Called by one listener per connection: a listener per response
 * would cost 3 % of a small request.
 */
export function notifyClosed(socket: Duplex): void {
  for (const request of [...requestsOn(socket)]) request.lose()
}
