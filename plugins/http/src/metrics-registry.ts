import type { IntervalHistogram } from 'node:perf_hooks'
import { Registry } from 'prom-client'
import { collectProcessMetrics } from './process-metrics.ts'
import { exposeRequestCounts } from './request-exposition.ts'
import type { RequestCounts } from './request-metrics.ts'

/**
 * Creates the registry of process and request metrics. Loaded at the first scrape: most processes are never scraped.
 */
export function metricsRegistry(loop: IntervalHistogram, counts: RequestCounts): Registry {
  const registry = new Registry()
  collectProcessMetrics(registry, loop)
  exposeRequestCounts(registry, counts)
  return registry
}
