import type { DaemonConnection } from './connection.ts'
import type { FrameId, Request } from './frames.ts'

/** Returns the key of a request id. The ids 1 and "1" are different. */
export function abortKey(id: FrameId | undefined): string {
  return `${typeof id} ${String(id)}`
}

/**
 * Handles `$/cancel` `{id}`: aborts the running or waiting requests with this id. Returns true if there were any.
 */
export function cancel(connection: DaemonConnection, { params }: Request, drop: (request: Request) => void): boolean {
  const key = abortKey((params as { id?: FrameId } | null | undefined)?.id)
  const running = [...(connection.calls.get(key) ?? [])]
  const waiting = connection.waiting.filter(({ request }) => request.id !== undefined && abortKey(request.id) === key)
  for (const controller of running) controller.abort()
  for (const { request } of waiting) drop(request)
  return running.length + waiting.length > 0
}
