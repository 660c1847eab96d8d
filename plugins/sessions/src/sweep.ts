import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '@svc/plugin-sdk'
import type { Sessions } from './sessions/sessions.ts'

const PERIOD_MS = 60_000

/**
 * Archives and compacts unused sessions at intervals while the process serves. After a failure the next sweep retries.
 */
export async function sweepSessions(sessions: Sessions, log: Logger, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await delay(PERIOD_MS, undefined, { signal, ref: false })
    } catch {
      return
    }
    try {
      await sessions.sweep()
    } catch (error) {
      log.warn('the sweep of unused sessions failed', { reason: (error as Error).message })
    }
  }
}
