import { service } from '@svc/plugin-sdk'

/**
 * Carries hints that a queue has ready items to other processes. Optional: a store without it uses its own transport,
 * or leaves its consumers to their polling.
 */
export const coordinationFanout = service<CoordinationFanout>('coordination.fanout@1')

/** Hints may be lost, late or repeated. No method throws or waits because the transport is not connected. */
export interface CoordinationFanout {
  /** Sends a hint about a queue to the subscribers of other processes. */
  publish(queue: string): void
  /** Calls `on` for each hint about these queues from another process. Returns the unsubscribe function. */
  subscribe(queues: readonly string[], on: (queue: string) => void): () => void
}
