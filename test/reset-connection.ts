import type { Socket } from 'node:net'

/**
 * Resets a connection, as if its process had crashed. One whose half-close is on its way is closed instead: Node 20 then
 * refuses the reset, keeps the handle open, and waits for it for ever when the process ends.
 */
export function resetConnection(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy()
  else socket.resetAndDestroy()
}
