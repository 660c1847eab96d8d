import type { IntervalHistogram } from 'node:perf_hooks'
import { Counter, Gauge, type Registry } from 'prom-client'

/**
 * Registers the metrics that Prometheus dashboards expect of a Node process, under prom-client's names. prom-client's
 * own collection is not used: it cannot be stopped, so a reload would leave a timer behind. The caller enables and
 * disables `loop`.
 */
export function collectProcessMetrics(registry: Registry, loop: IntervalHistogram): void {
  const started = Date.now() / 1000 - process.uptime()
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read())
      }
    })
  }
  const cpu = (): number => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time in seconds.',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(cpu())
    }
  })
  gauge('process_start_time_seconds', 'Start of the process in seconds since the epoch.', () => started)
  gauge('process_resident_memory_bytes', 'Resident memory in bytes.', () => process.memoryUsage.rss())
  gauge('nodejs_heap_size_total_bytes', 'Heap that V8 has reserved, in bytes.', () => process.memoryUsage().heapTotal)
  gauge('nodejs_heap_size_used_bytes', 'Heap in use, in bytes.', () => process.memoryUsage().heapUsed)
  gauge(
    'nodejs_external_memory_bytes',
    'Memory outside the heap that is owned by objects, in bytes.',
    () => process.memoryUsage().external
  )
  gauge('nodejs_eventloop_lag_mean_seconds', 'Mean delay of the event loop.', () => seconds(loop.mean))
  gauge('nodejs_eventloop_lag_p99_seconds', '99th percentile of the delay of the event loop.', () =>
    seconds(loop.percentile(99))
  )
  gauge('nodejs_eventloop_lag_max_seconds', 'Longest delay of the event loop.', () => seconds(loop.max))
  new Gauge({
    name: 'nodejs_version_info',
    help: 'Version of Node.',
    labelNames: ['version'],
    registers: [registry]
  }).set({ version: process.version }, 1)
}

/** Converts to seconds; 0 for NaN, which the histogram returns if it has no samples. */
function seconds(nanoseconds: number): number {
  return Number.isFinite(nanoseconds) ? nanoseconds / 1e9 : 0
}
