import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import protobuf from 'protobufjs'
import type { Test } from 'tap'

/**
 * The messages of OTLP 1.x that carry traces (https://github.com/open-telemetry/opentelemetry-proto,
 * trace/v1/trace.proto).
 */
const PROTO = `
syntax = "proto3";
message Request { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
message Scope { string name = 1; string version = 2; }
message Span {
  bytes trace_id = 1;
  bytes span_id = 2;
  bytes parent_span_id = 4;
  string name = 5;
  int32 kind = 6;
  fixed64 start_time_unix_nano = 7;
  fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9;
  Status status = 15;
}
message Status { string message = 2; int32 code = 3; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }
`
const Request = protobuf.parse(PROTO, { keepCase: true }).root.lookupType('Request')

export interface ReceivedSpan {
  readonly trace: string
  readonly span: string
  readonly parent: string
  readonly name: string
  readonly kind: number
  /** Milliseconds. */
  readonly start: number
  readonly ms: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly resource: Readonly<Record<string, unknown>>
  readonly status: { readonly message: string; readonly code: number }
}

export interface Collector {
  readonly url: string
  readonly spans: ReceivedSpan[]
  readonly paths: string[]
  readonly headers: IncomingHttpHeaders[]
  /** HTTP status of the next responses. */
  status: number
}

/** Starts a collector that accepts OTLP over HTTP. Closes it after the test. */
export async function openCollector(t: Test): Promise<Collector> {
  const collector = { url: '', spans: [] as ReceivedSpan[], paths: [] as string[], headers: [] as never[], status: 200 }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      collector.paths.push(request.url as string)
      collector.headers.push(request.headers as never)
      const body = Buffer.concat(chunks)
      if (collector.status === 200)
        collector.spans.push(...decode(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body))
      response.writeHead(collector.status, { 'content-type': 'application/x-protobuf' }).end()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    return new Promise(resolve => server.close(resolve))
  })
  collector.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return collector
}

function decode(body: Buffer): ReceivedSpan[] {
  const { resource_spans } = Request.toObject(Request.decode(body), { longs: String, arrays: true }) as any
  return resource_spans.flatMap(({ resource, scope_spans }: any) =>
    scope_spans.flatMap(({ spans }: any) =>
      spans.map((span: any) => ({
        trace: Buffer.from(span.trace_id).toString('hex'),
        span: Buffer.from(span.span_id).toString('hex'),
        parent: Buffer.from(span.parent_span_id).toString('hex'),
        name: span.name,
        kind: span.kind,
        start: Number(BigInt(span.start_time_unix_nano) / 1_000n) / 1_000,
        ms: Number(BigInt(span.end_time_unix_nano) - BigInt(span.start_time_unix_nano)) / 1e6,
        attributes: values(span.attributes),
        resource: values(resource.attributes),
        status: { message: span.status?.message ?? '', code: span.status?.code ?? 0 }
      }))
    )
  )
}

function values(pairs: any[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map(({ key, value }) => {
      const { string_value, bool_value, int_value, double_value } = value
      return [key, string_value ?? bool_value ?? (int_value === undefined ? double_value : Number(int_value))]
    })
  )
}
