/** Counts of one route. Plain data, since it outlives reloads of this plugin. */
export interface RouteSeries {
  readonly plugin: string
  readonly method: string
  readonly route: string
  /** Requests by status; 499 means that the client disconnected. */
  readonly statuses: Map<number, number>
  /** Requests by duration: one count per {@link DURATION_BUCKETS}, and one for longer requests. Not cumulative. */
  readonly buckets: number[]
  /** Total seconds. */
  seconds: number
}

/** All request counters. Kept across reloads of this plugin, so that they do not reset. */
export interface RequestCounts {
  readonly series: Map<string, RouteSeries>
  inFlight: number
}

/** Upper bounds in seconds. */
export const DURATION_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60] as const

export function newRequestCounts(): RequestCounts {
  return { series: new Map(), inFlight: 0 }
}

export function seriesOf(counts: RequestCounts, plugin: string, method: string, route: string): RouteSeries {
  const key = `${plugin} ${method} ${route}`
  let series = counts.series.get(key)
  if (series === undefined) {
    const buckets = new Array<number>(DURATION_BUCKETS.length + 1).fill(0)
    series = { plugin, method, route, statuses: new Map(), buckets, seconds: 0 }
    counts.series.set(key, series)
  }
  return series
}

export function countRequest(series: RouteSeries, status: number, seconds: number): void {
  series.statuses.set(status, (series.statuses.get(status) ?? 0) + 1)
  series.seconds += seconds
  let bucket = 0
  while (bucket < DURATION_BUCKETS.length && seconds > (DURATION_BUCKETS[bucket] as number)) bucket += 1
  series.buckets[bucket] = (series.buckets[bucket] as number) + 1
}
