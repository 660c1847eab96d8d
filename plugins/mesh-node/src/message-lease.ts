import { setTimeout as delay } from 'node:timers/promises'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import type { MeshClient } from './client.ts'
import { isHttpStatus } from './http-status.ts'

const MIN_INTERVAL_MS = 250
/** Assumed lease in milliseconds if the control plane does not say how long it is: the shortest one possible. */
const MIN_LEASE_MS = 1_000

export interface ClaimedMessage {
  readonly receiver: string
  readonly message: number
  readonly node: string
  readonly fence?: number
}

/** Returns a third of a lease, which ends at a time of the server's clock. */
export function renewalInterval(expiresMs: number | undefined, serverMs: number | null): number {
  const leaseMs = expiresMs === undefined || serverMs === null ? MIN_LEASE_MS : expiresMs - serverMs
  return Math.max(MIN_INTERVAL_MS, leaseMs / 3)
}

/**
 * Renews the lease of a message until the signal is aborted. Calls `lost` once and returns if another node may have the
 * message, or if it was removed. An unreachable control plane does not count: then no other node can claim it either.
 */
export async function keepLease(
  client: MeshClient,
  claim: ClaimedMessage,
  intervalMs: number,
  options: { readonly signal: AbortSignal; readonly lost: (why: string) => void; readonly log: Logger }
): Promise<void> {
  const { signal, lost, log } = options
  for (;;) {
    await delay(intervalMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    try {
      await client.renewMessage(claim, signal)
    } catch (error) {
      if (signal.aborted) return
      if (isHttpStatus(error, 403, 404, 409)) {
        lost(error.message)
        return
      }
      log.debug('the lease of a message could not be renewed', {
        message_id: claim.message,
        reason: errorMessage(error)
      })
    }
  }
}
