import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { type ExportResult, ExportResultCode } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import type { SpanRecord } from '@svc/contracts'
import { spanToOtel } from './span-to-otel.ts'

export interface ExporterOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly gzip: boolean
  readonly serviceName: string
  readonly version: string
  /** Further attributes of this server. */
  readonly attributes: Readonly<Record<string, string>>
}

export interface Exporter {
  /** Sends spans. Rejects if the collector does not accept them, after the retries that OTLP prescribes. */
  send(spans: readonly SpanRecord[]): Promise<void>
  close(): Promise<void>
}

/** Opens an exporter that sends spans by OTLP over HTTP, in protobuf. */
export function openExporter({
  url,
  headers,
  timeoutMs,
  gzip,
  serviceName,
  version,
  attributes
}: ExporterOptions): Exporter {
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: timeoutMs,
    compression: (gzip ? 'gzip' : 'none') as never
  })
  const resource = resourceFromAttributes({
    ...attributes,
    'service.name': serviceName,
    'service.version': version,
    'service.instance.id': randomUUID(),
    'host.name': hostname(),
    'process.pid': process.pid,
    'process.runtime.name': 'nodejs',
    'process.runtime.version': process.versions.node
  })
  return {
    send: spans =>
      new Promise((resolve, reject) => {
        const done = ({ code, error }: ExportResult): void => {
          if (code === ExportResultCode.SUCCESS) resolve()
          else reject(error ?? new Error('the collector rejected the spans'))
        }
        exporter.export(
          spans.map(span => spanToOtel(span, resource, version)),
          done
        )
      }),
    close: () => exporter.shutdown()
  }
}
