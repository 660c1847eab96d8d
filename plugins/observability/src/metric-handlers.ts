import { sinceMs } from './filters.ts'
import type { HistoryPoint, MetricHistory } from './metric-history.ts'

export interface MetricsInput {
  readonly series?: readonly string[] | undefined
  readonly since?: string | undefined
  readonly points: number
}

/** Series that are shown unless others are requested. */
const DEFAULT_SERIES = [
  'requests_per_second',
  'errors_per_second',
  'request_p50_ms',
  'request_p95_ms',
  'event_loop_delay_ms',
  'event_loop_p99_ms',
  'cpu_percent',
  'rss_bytes',
  'heap_bytes',
  'tokens_per_second',
  'model_queue_length'
] as const

/** Maximum number of series in one answer. */
const MAX_SERIES = 100
/** Maximum number of values in one answer. */
const MAX_VALUES = 6_000

/** Returns the handler of `observability.metrics`. Throws `OBS_SINCE_INVALID`. */
export function metricsHandler(history: MetricHistory) {
  return ({ series: requested, since, points: maxPoints }: MetricsInput) => {
    const available = history.names
    const names = selected(available, requested ?? DEFAULT_SERIES)
    const shown = names.slice(0, MAX_SERIES)
    const all = history.points(shown, sinceMs(since, Date.now()) ?? undefined)
    const fits = Math.max(1, Math.floor(MAX_VALUES / Math.max(1, shown.length)))
    const points = thinned(all, shown, Math.min(maxPoints === 0 ? Infinity : maxPoints, fits))
    return {
      series: shown.map(name => summaryOf(name, all)),
      points,
      available: [...available],
      note: noteOf(all.length, names.length - shown.length, history.dropped)
    }
  }
}

function selected(available: readonly string[], requested: readonly string[]): string[] {
  const found = requested.flatMap(name => {
    if (!name.endsWith('*')) return available.filter(each => each === name)
    const begin = name.slice(0, -1)
    return available.filter(each => each.startsWith(begin))
  })
  return [...new Set(found)]
}

function summaryOf(name: string, points: readonly HistoryPoint[]) {
  const values = points.map(point => point[name] ?? null)
  const known = values.filter(value => value !== null)
  const now = values.at(-1) ?? null
  return {
    name,
    now: now === null ? null : short(now),
    min: known.length === 0 ? null : short(Math.min(...known)),
    max: known.length === 0 ? null : short(Math.max(...known)),
    trend: trendOf(values)
  }
}

const BARS = '▁▂▃▄▅▆▇█'
/** Width of a line of bars. */
const TREND_WIDTH = 30

/** Draws values as a line of bars between 0 and the largest; a value that is not known is a space. */
function trendOf(values: readonly (number | null)[]): string {
  const means = groups(values, TREND_WIDTH).map(meanOf)
  const top = Math.max(...means.map(value => value ?? 0))
  return means
    .map(value => {
      if (value === null) return ' '
      return BARS[top <= 0 ? 0 : Math.min(BARS.length - 1, Math.floor((value / top) * BARS.length))]
    })
    .join('')
}

/** Reduces points to a number of them: each is the mean of its part of the time. */
function thinned(
  points: readonly HistoryPoint[],
  names: readonly string[],
  maxPoints: number
): Record<string, number | null>[] {
  return groups(points, Math.min(maxPoints, points.length)).map(group => {
    const point: Record<string, number | null> = { time: (group.at(-1) as HistoryPoint).time }
    for (const name of names) {
      const mean = meanOf(group.map(each => each[name] ?? null))
      point[name] = mean === null ? null : short(mean)
    }
    return point
  })
}

/** Splits a list into at most `count` groups of nearly equal size, in order. */
function groups<A>(items: readonly A[], count: number): A[][] {
  const size = Math.min(count, items.length)
  return Array.from({ length: size }, (_, at) =>
    items.slice(Math.floor((at * items.length) / size), Math.floor(((at + 1) * items.length) / size))
  )
}

function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter(value => value !== null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length
}

/** Rounds to three decimals, or to four digits of a smaller value. */
function short(value: number): number {
  return Math.abs(value) >= 1 ? Math.round(value * 1000) / 1000 : Number(value.toPrecision(4))
}

function noteOf(points: number, omitted: number, dropped: number): string {
  const parts = [
    ...(points === 0 ? ['no values yet: the server takes the first 10 seconds after its start'] : []),
    ...(omitted > 0 ? [`${omitted} further series match`] : []),
    ...(dropped > 0 ? [`${dropped} series are not kept, because there are more than 500`] : [])
  ]
  return parts.join('; ')
}
