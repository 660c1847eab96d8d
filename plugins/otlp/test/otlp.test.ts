import { metricsText, type ObservabilitySpans, observabilitySpans, type SpanRecord, surfaces } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import plugin from '#plugin'
import { openCollector } from './collector.ts'

const REQUEST: SpanRecord = {
  trace_id: 'a'.repeat(32),
  span_id: 'b'.repeat(16),
  parent_id: 'c'.repeat(16),
  request_id: 't-1',
  name: 'GET /v1/things/:id',
  kind: 'request',
  plugin: 'things',
  start: 1_790_000_000_123.25,
  ms: 12.5,
  error: null,
  attributes: { 'http.request.method': 'GET', 'http.route': '/v1/things/:id', 'http.response.status_code': 200 }
}
const OPERATION: SpanRecord = {
  ...REQUEST,
  span_id: 'd'.repeat(16),
  parent_id: REQUEST.span_id,
  name: 'things.get',
  kind: 'operation',
  error: 'THING_UNKNOWN',
  attributes: { 'svc.surface': 'http', rows: 2, cached: true }
}

function notUsed(): never {
  throw new Error('the plugin only subscribes')
}

/** Opens the plugin with spans that the test records. */
async function open(t: Test, settings: object) {
  const listeners = new Set<(span: SpanRecord) => void>()
  let render = async (): Promise<string> => ''
  const spans: ObservabilitySpans = {
    start: notUsed,
    step: notUsed,
    current: notUsed,
    add: notUsed,
    sample: notUsed,
    within: notUsed,
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
  }
  const source = definePlugin({
    name: 'source',
    provides: [observabilitySpans],
    activate(ctx) {
      ctx.provide(observabilitySpans, spans)
      ctx.contribute(surfaces, {
        async prepare(next) {
          const items = next.items(metricsText)
          return {
            commit() {
              render = async () => (await Promise.all(items.map(({ item }) => item.render()))).join('')
            },
            abort: () => undefined
          }
        }
      })
    }
  })
  const kernel = await testKernel([source, plugin], { settings: { otlp: { delay_ms: 10, ...settings } } })
  t.teardown(() => kernel.close())
  const record = (span: SpanRecord): void => {
    for (const listener of listeners) listener(span)
  }
  return { kernel, record, listeners, metrics: () => render() }
}

async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await check())) await new Promise(resolve => setTimeout(resolve, 5))
}

t.test('spans arrive at a collector with ids, times, attributes and errors', async t => {
  const collector = await openCollector(t)
  const { record } = await open(t, { endpoint: `${collector.url}/`, service_name: 'shop' })
  record(REQUEST)
  record(OPERATION)
  await until(() => collector.spans.length === 2)
  t.same(new Set(collector.paths), new Set(['/v1/traces']))
  const [request, operation] = collector.spans
  t.match(request, {
    trace: REQUEST.trace_id,
    span: REQUEST.span_id,
    parent: REQUEST.parent_id as string,
    name: REQUEST.name,
    kind: 2,
    start: REQUEST.start,
    ms: REQUEST.ms,
    attributes: {
      'http.request.method': 'GET',
      'http.route': '/v1/things/:id',
      'http.response.status_code': 200,
      'url.scheme': 'http',
      'svc.plugin': 'things',
      'svc.request_id': 't-1'
    },
    resource: { 'service.name': 'shop', 'process.runtime.name': 'nodejs', 'service.instance.id': /^[0-9a-f-]{36}$/ },
    status: { code: 0 }
  })
  t.match(operation, {
    trace: REQUEST.trace_id,
    parent: REQUEST.span_id,
    kind: 1,
    attributes: { 'svc.surface': 'http', rows: 2, cached: true, 'error.type': 'THING_UNKNOWN' },
    status: { code: 2, message: 'THING_UNKNOWN' }
  })
})

t.test('headers are sent, and compression is used', async t => {
  const collector = await openCollector(t)
  const settings = { traces_endpoint: `${collector.url}/in`, headers: 'api-key=a%2Cb, X-Tenant=t', compression: 'gzip' }
  const { record } = await open(t, settings)
  record(REQUEST)
  await until(() => collector.spans.length === 1)
  t.same(collector.paths, ['/in'])
  t.match(collector.headers[0], { 'api-key': 'a,b', 'x-tenant': 't', 'content-encoding': 'gzip' })
})

t.test('invalid headers are rejected without printing them', async t => {
  for (const headers of ['secret-key', 'a=%zz', 'bad name=1', 'a=%0d%0ax: 1']) {
    const error = await open(t, { headers }).then(
      () => null,
      (reason: Error) => reason
    )
    t.match(error, { code: 'OTL_HEADERS_INVALID', message: /pair 1 is not name=value/ }, headers)
    t.notMatch(error?.message, headers, 'the message does not contain the headers, which may be a key')
  }
})

t.test('spans that the collector rejects are logged once and counted as lost', async t => {
  const collector = await openCollector(t)
  const { kernel, record, metrics } = await open(t, { endpoint: collector.url })
  collector.status = 400
  record(REQUEST)
  const warnings = () => kernel.log.filter(line => /were not delivered/.test(line.message))
  await until(() => warnings().length === 1)
  record(REQUEST)
  const lost = (count: number) => async () =>
    (await metrics()).includes(`svc_otlp_spans_total{result="lost"} ${count}\n`)
  await until(lost(2))
  collector.status = 200
  record(OPERATION)
  await until(() => collector.spans.length === 1)
  t.equal(collector.spans[0]?.name, 'things.get', 'export continues when the collector accepts spans again')
  t.equal(warnings().length, 1)
  await until(async () => (await metrics()).includes('svc_otlp_spans_total{result="sent"} 1\n'))
  t.match(await metrics(), 'svc_otlp_spans_total{result="sent"} 1\nsvc_otlp_spans_total{result="lost"} 2\n')
  t.equal(collector.paths.length, 3)
  t.notMatch(JSON.stringify(warnings()), /v1\/traces/)
})

t.test('queued spans are sent when the plugin ends', async t => {
  const collector = await openCollector(t)
  const { kernel, record, listeners } = await open(t, { endpoint: collector.url, delay_ms: 600_000 })
  record(REQUEST)
  await kernel.close()
  t.equal(collector.spans.length, 1)
  t.equal(listeners.size, 0)
})

t.test('only failures of the server mark a request as failed', async t => {
  const collector = await openCollector(t)
  const { record } = await open(t, { endpoint: collector.url })
  const answered = (status: number) => ({
    ...REQUEST,
    error: 'THING_BAD',
    attributes: { 'http.response.status_code': status }
  })
  record(answered(404))
  record(answered(503))
  await until(() => collector.spans.length === 2)
  const [refused, failed] = collector.spans
  t.match(refused, { status: { code: 0 }, attributes: { 'svc.error_code': 'THING_BAD', 'error.type': undefined } })
  t.match(failed, { status: { code: 2, message: 'THING_BAD' }, attributes: { 'error.type': 'THING_BAD' } })
})

t.test('a full queue drops new spans and counts them', async t => {
  const collector = await openCollector(t)
  const { record, metrics, kernel } = await open(t, { endpoint: collector.url, queue: 3, delay_ms: 600_000 })
  for (let count = 0; count < 10; count++) record(REQUEST)
  t.match(await metrics(), 'svc_otlp_spans_total{result="lost"} 7\n')
  await kernel.close()
  t.equal(collector.spans.length, 3)
})

t.test('headers of traces replace the general ones, and attributes of the server are sent', async t => {
  const collector = await openCollector(t)
  const { record } = await open(t, {
    endpoint: collector.url,
    headers: 'a=1',
    traces_headers: 'b=2',
    resource_attributes: 'deployment.environment.name=test%20lab'
  })
  record(REQUEST)
  await until(() => collector.spans.length === 1)
  t.equal(collector.headers[0]?.b, '2')
  t.notOk('a' in (collector.headers[0] ?? {}))
  t.equal(collector.spans[0]?.resource['deployment.environment.name'], 'test lab')
  await t.rejects(open(t, { resource_attributes: 'nothing' }), {
    code: 'OTL_HEADERS_INVALID',
    message: /resource_attributes: pair 1/
  })
})
