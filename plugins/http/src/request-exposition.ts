import type { Metric, MetricValue, Registry } from 'prom-client'
import { DURATION_BUCKETS, type RequestCounts } from './request-metrics.ts'

/** Registers the request counts as metrics. They are read on each scrape, so that requests have no extra cost. */
export function exposeRequestCounts(registry: Registry, counts: RequestCounts): void {
  add(registry, 'svc_http_requests_total', 'counter', 'HTTP requests by status.', () => statuses(counts))
  add(registry, 'svc_http_request_duration_seconds', 'histogram', 'Time to the end of the response.', () =>
    durations(counts)
  )
  add(registry, 'svc_http_requests_in_flight', 'gauge', 'HTTP requests that have no complete response yet.', () => [
    { value: counts.inFlight, labels: {} }
  ])
}

type Value = MetricValue<string> & { readonly metricName?: string }

/** Registers a metric. A registry reads only its `name` and the result of `get()`. */
function add(registry: Registry, name: string, type: string, help: string, values: () => Value[]): void {
  const metric = { name, get: () => ({ name, help, type, values: values() }) }
  registry.registerMetric(metric as unknown as Metric)
}

function* labelled(counts: RequestCounts) {
  for (const { plugin, method, route, ...series } of counts.series.values()) {
    yield { series, labels: { plugin, method, route } }
  }
}

function statuses(counts: RequestCounts): Value[] {
  const values: Value[] = []
  for (const { series, labels } of labelled(counts)) {
    for (const [status, value] of series.statuses) values.push({ value, labels: { ...labels, status } })
  }
  return values
}

function durations(counts: RequestCounts): Value[] {
  const name = 'svc_http_request_duration_seconds'
  const values: Value[] = []
  for (const { series, labels } of labelled(counts)) {
    let sum = 0
    series.buckets.forEach((count, at) => {
      sum += count
      values.push({
        value: sum,
        labels: { ...labels, le: DURATION_BUCKETS[at] ?? '+Inf' },
        metricName: `${name}_bucket`
      })
    })
    if (sum === 0) {
      values.length -= series.buckets.length
      continue
    }
    values.push(
      { value: series.seconds, labels, metricName: `${name}_sum` },
      { value: sum, labels, metricName: `${name}_count` }
    )
  }
  return values
}
