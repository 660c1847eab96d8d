import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

// Sockets outlive a reload of this plugin: old and new code must mean the same property.
const RESPONSE = Symbol.for('svc.http.response')
type Remembering = Duplex & { [RESPONSE]?: ServerResponse | null }

/** Notes the answer that a socket is carrying. */
export function rememberResponse(response: ServerResponse): void {
  const socket = response.req.socket as Remembering
  socket[RESPONSE] = response
}

/** An idle connection must not hold on to its last request. */
export function forgetResponse(response: ServerResponse): void {
  const socket = response.req.socket as Remembering
  if (socket[RESPONSE] === response) socket[RESPONSE] = null
}

/** Whether a request has ever arrived on the socket, the whole of its head at least. */
export function hasCarriedRequest(socket: Duplex): boolean {
  return RESPONSE in socket
}

export function responseOf(socket: Duplex): ServerResponse | null {
  return (socket as Remembering)[RESPONSE] ?? null
}
