import type { AccessRecord } from '@svc/contracts'
import { observabilityErrors } from './errors.ts'
import { LOG_LEVELS, type LogEntry, type LogLevel } from './log-entry.ts'

export interface LogFilter {
  readonly plugin?: string | undefined
  readonly level?: LogLevel | undefined
  readonly request?: string | undefined
  readonly since?: string | undefined
}

/** Returns a predicate for log entries. Throws `OBS_SINCE_INVALID`. */
export function logFilter(
  { plugin, level, request, since }: LogFilter,
  now = Date.now()
): (entry: LogEntry) => boolean {
  const from = sinceMs(since, now)
  const minLevel = level === undefined ? 0 : LOG_LEVELS.indexOf(level)
  return entry =>
    (plugin === undefined || entry.plugin === plugin) &&
    LOG_LEVELS.indexOf(entry.level) >= minLevel &&
    (request === undefined || entry.fields.request_id === request) &&
    (from === null || Date.parse(entry.time) >= from)
}

export interface RequestFilter {
  readonly request?: string | undefined
  readonly plugin?: string | undefined
  readonly since?: string | undefined
  readonly failed?: boolean | undefined
}

/** Returns a predicate for access records. Throws `OBS_SINCE_INVALID`. */
export function requestFilter(
  { request, plugin, since, failed }: RequestFilter,
  now = Date.now()
): (record: AccessRecord) => boolean {
  const from = sinceMs(since, now)
  return record =>
    (request === undefined || record.request_id === request) &&
    (plugin === undefined || record.plugin === plugin) &&
    (failed !== true || record.status >= 400 || record.error_code !== null) &&
    (from === null || record.time >= from)
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Parses `since`, a duration before now or a time, to Unix milliseconds; null for no limit. */
export function sinceMs(since: string | undefined, now: number): number | null {
  if (since === undefined) return null
  const [, amount, unit = ''] = /^(\d+)([smhd])$/.exec(since) ?? []
  const at = amount === undefined ? Date.parse(since) : now - Number(amount) * (UNIT_MS[unit] as number)
  if (Number.isFinite(at)) return at
  throw observabilityErrors.create('OBS_SINCE_INVALID', `since is "${since}", which is neither a duration nor a time`, {
    hint: 'write a duration such as 30s, 10m, 2h or 1d, or a time such as 2026-01-31T12:00:00Z'
  })
}
