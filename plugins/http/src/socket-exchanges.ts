import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** A request in flight, as recorded on its socket. */
export interface Carried {
  readonly response: ServerResponse
  /** The previous request on the socket, while it is in flight as well. */
  previous: Carried | null
  /** Called when the socket has closed. */
  lose(): void
}

// Sockets outlive a reload of this plugin: old and new code must use the same property.
const LAST = Symbol.for('svc.http.carried')
/** The last of a linked list: a socket carries many requests, and arrays would be allocated for each. */
type Carrier = Duplex & { [LAST]?: Carried | null }

/** Records a request whose head has arrived. A client may send several before an answer (pipelining). */
export function carry(socket: Duplex, carried: Carried): void {
  const carrier = socket as Carrier
  carried.previous = carrier[LAST] ?? null
  carrier[LAST] = carried
}

/** An idle connection must not keep its last request and that generation in memory. */
export function release(socket: Duplex, carried: Carried): void {
  const carrier = socket as Carrier
  if (carrier[LAST] === carried) {
    carrier[LAST] = carried.previous
    return
  }
  for (const each of carriedBy(socket)) {
    if (each.previous === carried) each.previous = carried.previous
  }
}

/** Newest first. */
export function* carriedBy(socket: Duplex): Iterable<Carried> {
  for (let each = (socket as Carrier)[LAST] ?? null; each !== null; each = each.previous) yield each
}

export function lastCarriedBy(socket: Duplex): Carried | null {
  return (socket as Carrier)[LAST] ?? null
}

/** True if a complete request head has arrived on the socket. */
export function hasCarried(socket: Duplex): boolean {
  return LAST in socket
}

/**
 * Notifies every request of a closed socket. One listener per connection is enough; one per response would
 * cost 3 % of a small request.
 */
export function loseAll(socket: Duplex): void {
  for (const carried of [...carriedBy(socket)]) carried.lose()
}
