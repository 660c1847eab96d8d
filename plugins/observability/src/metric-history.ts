/** Maximum number of series; further ones are not recorded, so that a label with many values cannot fill the memory. */
export const MAX_SERIES = 500
/** Number of points of a series. */
export const MAX_POINTS = 720

/** Values of one point in time, by series. */
export type Sample = Readonly<Record<string, number>>

/** Content of a history. Plain data, so that it outlives a reload of the code. */
export interface HistoryState {
  /** Unix milliseconds of the points; circular, as are the values of the series. */
  readonly times: Float64Array
  /** Number of points that were ever added. */
  added: number
  readonly series: Map<string, Float64Array>
  /** Series that were not recorded, because there are too many. */
  dropped: number
}

export function newHistoryState(): HistoryState {
  return { times: new Float64Array(MAX_POINTS), added: 0, series: new Map(), dropped: 0 }
}

/** One point: its time, and the values of the requested series. */
export type HistoryPoint = { readonly time: number } & Readonly<Record<string, number | null>>

/** Ring of metric values over time. At most {@link MAX_SERIES} series with {@link MAX_POINTS} points of 8 bytes each. */
export class MetricHistory {
  readonly #state: HistoryState

  constructor(state: HistoryState = newHistoryState()) {
    this.#state = state
  }

  add(time: number, sample: Sample): void {
    const state = this.#state
    const at = state.added % MAX_POINTS
    state.times[at] = time
    state.added += 1
    for (const values of state.series.values()) values[at] = Number.NaN
    state.dropped = 0
    for (const [name, value] of Object.entries(sample)) {
      const values = state.series.get(name) ?? this.#addSeries(name)
      if (values === null) state.dropped += 1
      else values[at] = value
    }
  }

  /** Names of the series, sorted. */
  get names(): readonly string[] {
    return [...this.#state.series.keys()].sort()
  }

  get dropped(): number {
    return this.#state.dropped
  }

  /** Returns the points of the given series from a time on, oldest first. A series without a value at a point has null. */
  points(names: readonly string[], since = -Infinity): HistoryPoint[] {
    const { times, added, series } = this.#state
    const points: HistoryPoint[] = []
    for (let number = Math.max(0, added - MAX_POINTS); number < added; number++) {
      const at = number % MAX_POINTS
      const time = times[at] as number
      if (time < since) continue
      const point: Record<string, number | null> = { time }
      for (const name of names) {
        const value = series.get(name)?.[at] ?? Number.NaN
        point[name] = Number.isFinite(value) ? value : null
      }
      points.push(point as HistoryPoint)
    }
    return points
  }

  /** Adds a series; one without any value is replaced if there are too many. Null if none can be added. */
  #addSeries(name: string): Float64Array | null {
    const { series } = this.#state
    if (series.size >= MAX_SERIES) {
      const empty = [...series].find(([, values]) => values.every(value => !Number.isFinite(value)))
      if (empty === undefined) return null
      series.delete(empty[0])
    }
    const values = new Float64Array(MAX_POINTS).fill(Number.NaN)
    series.set(name, values)
    return values
  }
}
