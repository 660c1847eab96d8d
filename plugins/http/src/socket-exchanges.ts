import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** A request under way, as the socket that carries it knows it. */
export interface Carried {
  readonly response: ServerResponse
  /** The one that arrived before it on its socket, while that is under way too. */
  previous: Carried | null
  /** Called when the socket has closed. */
  lose(): void
}

// Sockets outlive a reload of this plugin: old and new code must mean the same property.
const LAST = Symbol.for('svc.http.carried')
/** The last of a linked list: a socket carries one request after another, and an array would be made for each. */
type Carrier = Duplex & { [LAST]?: Carried | null }

/** Notes a request whose head has arrived. A client may send several before it has an answer. */
export function carry(socket: Duplex, carried: Carried): void {
  const carrier = socket as Carrier
  carried.previous = carrier[LAST] ?? null
  carrier[LAST] = carried
}

/** An idle connection must not hold on to its last request, nor to the generation that answered it. */
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

/** Whether a request has ever arrived on the socket, the whole of its head at least. */
export function hasCarried(socket: Duplex): boolean {
  return LAST in socket
}

/**
 * Notifies every request on a socket that has closed. One listener for a connection is enough for this; one for a response
 * would cost 3 % of a small request.
 */
export function loseAll(socket: Duplex): void {
  for (const carried of [...carriedBy(socket)]) carried.lose()
}
