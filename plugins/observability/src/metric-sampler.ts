import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { CallStats, KernelPort } from '@svc/contracts'
import { exposedValues } from './exposition-values.ts'
import type { MetricHistory } from './metric-history.ts'
import type { RequestCounter } from './request-counter.ts'

/** Milliseconds between two points. */
const SAMPLE_MS = 10_000
/** Maximum milliseconds that the metrics of a plugin may take. */
const RENDER_MS = 2_000
const NANOSECONDS_PER_MS = 1e6
/** Interval of the measurement of the event loop, which the measured times include. */
const LOOP_MS = 20

/** Source of a text in the Prometheus format. */
export interface MetricSource {
  render(): string | Promise<string>
}

export interface SamplerParts {
  readonly kernel: Pick<KernelPort, 'current'>
  readonly history: MetricHistory
  readonly requests: RequestCounter
  /** Metrics of other plugins. */
  sources(): readonly MetricSource[]
  /** Called after each point. */
  onSample(): void
}

/** Adds a point to the history every {@link SAMPLE_MS}: counters as rates per second, gauges as they are. */
export class MetricSampler {
  readonly #parts: SamplerParts
  readonly #loop: IntervalHistogram = monitorEventLoopDelay({ resolution: LOOP_MS })
  readonly #timer: NodeJS.Timeout
  #at = performance.now()
  #cpu = process.cpuUsage()
  #calls = new Map<string, CallStats>()
  /** Values of counters at the last point. */
  #counters = new Map<string, number>()
  #isSampling = false

  constructor(parts: SamplerParts) {
    this.#parts = parts
    this.#loop.enable()
    this.#timer = setInterval(() => void this.sample(), SAMPLE_MS).unref()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#loop.disable()
  }

  /** Adds a point now. A source that fails or takes too long is left out. */
  async sample(): Promise<void> {
    if (this.#isSampling) return
    this.#isSampling = true
    try {
      const exposed = await Promise.all(this.#parts.sources().map(textOf))
      const now = performance.now()
      const seconds = Math.max((now - this.#at) / 1_000, 0.001)
      this.#at = now
      const sample = {
        ...this.#ofRequests(seconds),
        ...this.#ofProcess(seconds),
        ...this.#ofPlugins(seconds),
        ...this.#ofSources(exposed, seconds)
      }
      this.#parts.history.add(Date.now(), sample)
      this.#parts.onSample()
    } finally {
      this.#isSampling = false
    }
  }

  #ofRequests(seconds: number): Record<string, number> {
    const { count, errors, p50, p95 } = this.#parts.requests.take()
    return {
      requests_per_second: count / seconds,
      errors_per_second: errors / seconds,
      request_p50_ms: p50 ?? Number.NaN,
      request_p95_ms: p95 ?? Number.NaN
    }
  }

  #ofProcess(seconds: number): Record<string, number> {
    const { user, system } = process.cpuUsage(this.#cpu)
    this.#cpu = process.cpuUsage()
    const delay = (nanoseconds: number): number =>
      Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / NANOSECONDS_PER_MS - LOOP_MS) : Number.NaN
    const loop = { event_loop_delay_ms: delay(this.#loop.mean), event_loop_p99_ms: delay(this.#loop.percentile(99)) }
    this.#loop.reset()
    const { rss, heapUsed, external } = process.memoryUsage()
    return {
      ...loop,
      cpu_percent: (user + system) / 1e4 / seconds,
      rss_bytes: rss,
      heap_bytes: heapUsed,
      external_bytes: external
    }
  }

  #ofPlugins(seconds: number): Record<string, number> {
    const values: Record<string, number> = {}
    const calls = new Map<string, CallStats>()
    for (const { name, stats } of this.#parts.kernel.current.units.values()) {
      const before = this.#calls.get(name) ?? { calls: 0, failures: 0, totalMs: 0 }
      calls.set(name, { calls: stats.calls, failures: stats.failures, totalMs: stats.totalMs })
      // Most plugins are idle, and a series for each would not be worth its memory.
      if (stats.calls === 0) continue
      values[`calls_per_second{plugin=${name}}`] = (stats.calls - before.calls) / seconds
      values[`failed_calls_per_second{plugin=${name}}`] = (stats.failures - before.failures) / seconds
      values[`call_time_percent{plugin=${name}}`] = (stats.totalMs - before.totalMs) / 10 / seconds
    }
    this.#calls = calls
    return values
  }

  #ofSources(texts: readonly string[], seconds: number): Record<string, number> {
    const values: Record<string, number> = {}
    const counters = new Map<string, number>()
    for (const { series, isCounter, value } of texts.flatMap(exposedValues)) {
      if (!isCounter) values[series] = value
      else {
        const before = this.#counters.get(series)
        // A counter that starts has no rate yet; one that began again lost its earlier count.
        if (before !== undefined) values[perSecond(series)] = Math.max(0, value - before) / seconds
        counters.set(series, value)
      }
    }
    this.#counters = counters
    return { ...values, ...summed(values) }
  }
}

/** Sums over the models, by the name of the sum. */
const SUMS: Readonly<Record<string, string>> = {
  tokens_per_second: 'svc_model_completion_tokens_per_second',
  prompt_tokens_per_second: 'svc_model_prompt_tokens_per_second',
  model_queue_length: 'svc_model_queue_length',
  model_active: 'svc_model_active_sequences'
}

function summed(values: Readonly<Record<string, number>>): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const [name, family] of Object.entries(SUMS)) {
    const parts = Object.entries(values).filter(([series]) => series === family || series.startsWith(`${family}{`))
    if (parts.length > 0) sums[name] = parts.reduce((sum, [, value]) => sum + value, 0)
  }
  return sums
}

/** Returns the name of a rate: `svc_model_completion_tokens_total{model=m}` is `svc_model_completion_tokens_per_second{model=m}`. */
function perSecond(series: string): string {
  return series.replace(/(?:_total)?(\{|$)/, '_per_second$1')
}

async function textOf(source: MetricSource): Promise<string> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>(resolve => {
    timer = setTimeout(() => resolve(''), RENDER_MS)
  })
  try {
    return await Promise.race([source.render(), late])
  } catch {
    // `/metrics` logs the reason.
    return ''
  } finally {
    clearTimeout(timer)
  }
}
