import { setTimeout as delay } from 'node:timers/promises'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import type { Backups } from './backups.ts'
import type { Settings } from './settings.ts'

const HOUR_MS = 3_600_000
/** Interval in which the settings and the time are looked at. */
const LOOK_MS = 5_000
/** Pause after a failed backup, so that a lasting fault does not fill the log. */
const MAX_RETRY_MS = HOUR_MS

/** Returns when the next backup is due, in Unix milliseconds; null without a schedule. */
export function nextAt(everyHours: number, lastSuccess: number | null, lastTry: number | null): number | null {
  if (everyHours === 0) return null
  const interval = everyHours * HOUR_MS
  const due = (lastSuccess ?? 0) + interval
  return lastTry === null || lastTry <= (lastSuccess ?? 0)
    ? due
    : Math.max(due, lastTry + Math.min(interval, MAX_RETRY_MS))
}

/** Makes backups as the settings say, until the signal is aborted. */
export async function runSchedule(
  backups: Backups,
  settings: () => Settings,
  log: Pick<Logger, 'info' | 'error'>,
  changed: () => void,
  signal: AbortSignal
): Promise<void> {
  while (!signal.aborted) {
    const { success, failure } = await backups.status.read()
    const due = nextAt(settings().every_hours, success?.at ?? null, failure?.at ?? null)
    if (due !== null && Date.now() >= due) {
      try {
        const { file, bytes } = await backups.createScheduled(signal)
        log.info('backup written', { file, bytes })
      } catch (error) {
        if (signal.aborted) return
        log.error('the scheduled backup failed', {
          reason: errorMessage(error),
          hint: 'run svc backup to see the error'
        })
        await backups.status.failed(error, errorMessage(error)).catch(() => {})
      }
      changed()
    }
    await delay(LOOK_MS, undefined, { signal }).catch(() => undefined)
  }
}
