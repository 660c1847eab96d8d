import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '@svc/plugin-sdk'
import type { Sessions } from './sessions/sessions.ts'

const PERIOD_MS = 60_000

/** Expires unused sessions while the process serves. A failed sweep is retried at the next one. */
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
      log.warn('sessions could not be swept', { reason: (error as Error).message })
    }
  }
}
