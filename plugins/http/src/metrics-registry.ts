import type { IntervalHistogram } from 'node:perf_hooks'
import { Registry } from 'prom-client'
import { collectProcessMetrics } from './process-metrics.ts'
import { exposeRequestCounts } from './request-exposition.ts'
import type { RequestCounts } from './request-metrics.ts'

/** Metrics of the process and of the requests. Loaded at the first scrape, since most processes have none. */
export function metricsRegistry(loop: IntervalHistogram, counts: RequestCounts): Registry {
  const registry = new Registry()
  collectProcessMetrics(registry, loop)
  exposeRequestCounts(registry, counts)
  return registry
}
