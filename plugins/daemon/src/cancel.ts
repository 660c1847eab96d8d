import type { DaemonConnection } from './connection.ts'
import type { FrameId, Request } from './frames.ts'

/** 1 and "1" are different ids. */
export function abortKey(id: FrameId | undefined): string {
  return `${typeof id} ${String(id)}`
}

/**
 * Handles `$/cancel` of `{id}`: aborts the running and the waiting request of that id. Returns true if there was one.
 */
export function cancel(connection: DaemonConnection, { params }: Request, drop: (request: Request) => void): boolean {
  const key = abortKey((params as { id?: FrameId } | null | undefined)?.id)
  const running = [...(connection.calls.get(key) ?? [])]
  const waiting = connection.waiting.filter(({ request }) => request.id !== undefined && abortKey(request.id) === key)
  for (const controller of running) controller.abort()
  for (const { request } of waiting) drop(request)
  return running.length + waiting.length > 0
}
