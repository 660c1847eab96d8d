import type { ValueFormat } from '@svc/contracts'
import type { JsonSchema } from '@svc/plugin-sdk'

export type Tone = 'ok' | 'warn' | 'bad' | 'accent' | ''

const TONES: Readonly<Record<string, Tone>> = Object.fromEntries(
  (
    [
      [
        'ok',
        'ok active ready healthy completed complete succeeded success done loaded serving passed pass yes up resolved present'
      ],
      [
        'warn',
        'waiting degraded paused draining loading activating starting warning warn doubted stale requeue ' +
          'retrying blocked blocked_on_approval needs_approval awaiting_approval suspended maintenance not_ready ' +
          'nearing_expiry deprecated_alias_used raised pending'
      ],
      [
        'bad',
        'failed invalid error fatal quarantined stuck dead crashed unreachable rejected refused broken ' +
          'aborted destructive down emergency critical missing_required invalid_empty rejected_legacy_alias ' +
          'rejected_source_policy rejected_class_policy backend_unavailable stale_rotation new'
      ],
      ['accent', 'running in_progress inprogress busy assigned claimed executing write']
    ] as const
  ).flatMap(([tone, words]) => words.split(' ').map(word => [word, tone]))
)

/** Returns the colour of a state by the meaning of its name. */
export function toneOf(state: unknown): Tone {
  if (typeof state !== 'string') return ''
  return (
    TONES[
      state
        .replace(/([a-z])([A-Z])/g, '$1_$2')
        .toLowerCase()
        .replaceAll(/[- ]/g, '_')
    ] ?? ''
  )
}

/** Returns a state in words: `BlockedOnApproval` becomes `Blocked on approval`, `input_required` becomes `input required`. */
export function stateText(state: string): string {
  if (!/^[A-Za-z_]+$/.test(state) || !/_|[a-z][A-Z]/.test(state)) return state
  const words = state.replaceAll('_', ' ').replace(/([a-z])([A-Z])/g, '$1 $2')
  return words.charAt(0) + words.slice(1).toLowerCase()
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d/

/** Returns the format of a value from the schema of its field, else from the value. */
export function formatOf(schema: JsonSchema | undefined, value: unknown): ValueFormat {
  const known = schema === undefined ? undefined : schemaFormat(schema)
  if (known !== undefined) return known
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'number') return 'number'
  if (typeof value === 'string') return ISO_TIME.test(value) ? 'time' : 'text'
  return typeof value === 'object' && value !== null ? 'json' : 'text'
}

function schemaFormat(schema: JsonSchema): ValueFormat | undefined {
  const unit = schema['x-unit']
  if (unit === 'ms' || unit === 'bytes' || unit === 'tokens') return unit
  if (schema.format === 'date-time') return 'time'
  if (Array.isArray(schema.enum)) return 'state'
  if (schema.type === 'boolean') return 'boolean'
  if (schema.type === 'number' || schema.type === 'integer') return 'number'
  const options = schema.anyOf
  if (Array.isArray(options)) {
    const [only, ...others] = (options as JsonSchema[]).filter(option => option.type !== 'null')
    if (only !== undefined && others.length === 0) return schemaFormat(only)
  }
  return undefined
}

const NUMBER = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 })
/** For numbers such as prices of a call, which two digits would show as 0. */
const SMALL_NUMBER = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 2 })
const TIME = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const
const CLOCK = new Intl.DateTimeFormat(undefined, TIME)
const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', ...TIME })
const DATE = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })
const YEAR = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', day: 'numeric', ...TIME })
const DAY_MS = 86_400_000
const YEAR_MS = 300 * DAY_MS

/** Returns a value as text in a format; an empty text for null. */
export function textOf(value: unknown, format: ValueFormat): string {
  if (value === null || value === undefined) return ''
  if (format === 'time') return timeText(value)
  if (format === 'boolean') return value === true ? 'yes' : value === false ? 'no' : String(value)
  if (typeof value === 'number') return numberText(value, format)
  if (Array.isArray(value) && value.every(each => typeof each !== 'object')) return value.join(', ')
  if (typeof value === 'object') return JSON.stringify(value, null, format === 'json' ? 2 : 0)
  return String(value)
}

function numberText(value: number, format: ValueFormat): string {
  if (format === 'ms') return durationText(value)
  if (format === 'bytes') return bytesText(value)
  if (format === 'percent') return `${NUMBER.format(value * 100)} %`
  if (format === 'text' || format === 'code') return String(value)
  return (value !== 0 && Math.abs(value) < 0.1 ? SMALL_NUMBER : NUMBER).format(value)
}

/** Returns Unix milliseconds as a day, without the time. */
export function dateText(ms: number): string {
  return DATE.format(ms)
}

/** Maximum distance of a date from 1970 in milliseconds. */
const MAX_DATE_MS = 8.64e15

/** Returns Unix milliseconds or an ISO 8601 text as Unix milliseconds; null if it is neither. */
export function timeOf(value: unknown): number | null {
  const time = typeof value === 'number' ? value : typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Math.abs(time) <= MAX_DATE_MS ? time : null
}

function timeText(value: unknown): string {
  const time = timeOf(value)
  if (time === null) return String(value)
  const age = Math.abs(Date.now() - time)
  return (age < DAY_MS ? CLOCK : age < YEAR_MS ? DAY : YEAR).format(time)
}

/** Returns a duration such as `1.2 ms`, `3.4 s` or `2 h 5 min`. */
export function durationText(ms: number): string {
  if (ms < 1) return `${NUMBER.format(ms)} ms`
  if (ms < 1_000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1_000)} s`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`
}

function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1)
  return `${NUMBER.format(Number((bytes / 1024 ** power).toFixed(1)))} ${units[power]}`
}

/** Returns the time since a moment, such as `3 min ago`. */
export function agoText(time: number): string {
  const ms = Date.now() - time
  if (ms < 5_000) return 'just now'
  return ms < 60_000 ? `${Math.round(ms / 1_000)} s ago` : `${durationText(ms).replace(/ \d+ s$/, '')} ago`
}

/** Returns a field name as a title: `request_id` becomes `Request id`. */
export function titleOf(field: string): string {
  const name = field.split('.').at(-1) as string
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Returns the schema of a dotted field in an object schema; undefined if it is unknown. */
export function schemaAt(schema: JsonSchema | undefined, path: string | undefined): JsonSchema | undefined {
  let found: JsonSchema | undefined = schema
  for (const part of path === undefined || path === '' ? [] : path.split('.')) {
    const properties: unknown = found?.properties
    found =
      typeof properties === 'object' && properties !== null
        ? ((properties as Record<string, JsonSchema>)[part] ?? undefined)
        : undefined
  }
  return found
}
