import { kernelPort, metricsText, observabilitySpans, type SpanRecord } from '@svc/contracts'
import { definePlugin, errorMessage, settlesWithin } from '@svc/plugin-sdk'
import { Batches } from './batches.ts'
import { parseHeaders, parsePairs } from './headers.ts'
import { type Settings, settings } from './settings.ts'

const MAX_BATCH = 512
/** Time limit for the last export when the plugin ends. */
const CLOSE_TIMEOUT_MS = 5_000
/** Minimum interval between warnings about lost spans. */
const LOG_EVERY_MS = 60_000

export default definePlugin({
  name: 'otlp',
  summary: 'Sends traces to an OpenTelemetry collector',
  enabledByDefault: false,
  config: settings,
  requires: { kernel: kernelPort, spans: observabilitySpans },
  async activate(ctx, { kernel, spans }) {
    const config = ctx.config as Settings
    const url = config.traces_endpoint ?? `${config.endpoint.replace(/\/+$/, '')}/v1/traces`
    const headers =
      config.traces_headers === undefined
        ? parseHeaders(config.headers)
        : parseHeaders(config.traces_headers, 'traces_headers')
    const attributes = parsePairs(config.resource_attributes, 'resource_attributes')
    // Loaded here, since the plugin is off by default and the packages are large.
    const { openExporter } = await import('./exporter.ts')
    const exporter = openExporter({
      url,
      headers,
      timeoutMs: config.timeout_ms,
      gzip: config.compression === 'gzip',
      serviceName: config.service_name,
      version: kernel.version,
      attributes
    })
    const counts = { sent: 0, lost: 0 }
    let loggedAt = -Infinity
    const batches = new Batches<SpanRecord>({
      maxQueue: config.queue,
      maxBatch: MAX_BATCH,
      delayMs: config.delay_ms,
      send: async items => {
        await exporter.send(items)
        counts.sent += items.length
      },
      onLost: (count, error) => {
        counts.lost += count
        if (performance.now() - loggedAt < LOG_EVERY_MS) return
        loggedAt = performance.now()
        ctx.log.warn(`spans were not delivered to ${originOf(url)}`, {
          lost: counts.lost,
          reason: errorMessage(error),
          hint: 'check plugins.otlp.endpoint, and that the collector runs'
        })
      }
    })
    ctx.contribute(metricsText, {
      render: () =>
        [
          '# HELP svc_otlp_spans_total Spans for the collector.',
          '# TYPE svc_otlp_spans_total counter',
          `svc_otlp_spans_total{result="sent"} ${counts.sent}`,
          `svc_otlp_spans_total{result="lost"} ${counts.lost}`,
          ''
        ].join('\n')
    })
    const end = spans.subscribe(span => batches.add(span))
    ctx.effect('export of traces', async () => {
      end()
      await settlesWithin(CLOSE_TIMEOUT_MS, batches.close())
      await exporter.close()
    })
  }
})

/** Returns a URL without user, password and path, which may contain a key. */
function originOf(url: string): string {
  return new URL(url).origin
}
