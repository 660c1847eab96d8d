import { setTimeout as delay } from 'node:timers/promises'
import {
  type AccessRecord,
  kernelPort,
  logLines,
  type ObservabilitySink,
  type ObservabilitySpans,
  observabilitySink,
  observabilitySpans
} from '@svc/contracts'
import { defineOperation, definePlugin, ref, t as s } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import plugin from '#plugin'
import { finished } from './finished.ts'

const work = defineOperation({ id: 'probe.work', summary: 'x', input: s.object({}), output: s.object({}) })
const outer = defineOperation({ id: 'probe.outer', summary: 'x', input: s.object({}), output: s.object({}) })

/** Opens the plugin, and one whose operation has steps: `probe.outer` calls `probe.work`, which waits before its step. */
async function open(t: Test, settings: object = {}) {
  let spans: { readonly current: ObservabilitySpans } | undefined
  let sink: { readonly current: ObservabilitySink } | undefined
  let kernelOf: any
  const late: (() => void)[] = []
  const probe = definePlugin({
    name: 'probe',
    requires: { spans: ref(observabilitySpans), sink: ref(observabilitySink), kernel: kernelPort },
    operations: [work, outer],
    activate(ctx, deps) {
      spans = deps.spans
      sink = deps.sink
      kernelOf = deps.kernel
      ctx.implement(work, async () => {
        await delay(1)
        const step = deps.spans.current.step('probe', 'probe.step', { 'db.query.text': 'select 1' })
        await delay(1)
        step?.end()
        late.push(() => deps.spans.current.step('probe', 'too late')?.end())
        setTimeout(() => late.at(-1)?.(), 5)
        return {}
      })
      ctx.implement(outer, (_input, call) => ctx.call(work, {}, { parent: call }))
    }
  })
  const services = [{ token: logLines, value: { subscribe: () => () => undefined } }]
  const kernel = await testKernel([plugin, probe], { settings: { observability: settings }, services })
  t.teardown(() => kernel.close())
  const port = kernelOf as import('@svc/contracts').KernelPort
  return {
    kernel,
    port,
    spans: () => spans?.current as ObservabilitySpans,
    record: (record: AccessRecord) => sink?.current.request(finished(record)),
    call: (traceparent?: string) =>
      port.invoke(
        'probe.outer',
        {},
        {
          surface: 'http',
          principal: { id: 'local', role: 'local', scopes: ['*'] },
          requestId: 't-1',
          ...(traceparent === undefined ? {} : { traceparent })
        }
      ),
    names: async (id: string) =>
      ((await kernel.callById('observability.trace', { id })) as { steps: any[] }).steps.map(
        ({ name, depth, request_id, plugin }) => `${depth} ${name} ${request_id} ${plugin}`
      )
  }
}

const TRACE = 'a'.repeat(32)
const PLAIN = ['0 probe.outer t-1 probe', '1 probe.work t-1 probe']
const DETAILED = [...PLAIN, '2 probe.step t-1 probe']

t.test('steps are recorded below the call that runs, only for a sampled traceparent', async t => {
  const { call, names, spans } = await open(t)
  await call(`00-${TRACE}-${'b'.repeat(16)}-00`)
  t.same(await names(TRACE), PLAIN)
  const sampled = 'c'.repeat(32)
  await call(`00-${sampled}-${'b'.repeat(16)}-01`)
  t.same(await names(sampled), DETAILED)
  await delay(20)
  t.same(await names(sampled), DETAILED, 'a step after the end of its call is not recorded')
  t.equal(spans().current(), undefined)
})

t.test('the setting sample records every call', async t => {
  const { call, names } = await open(t, { sample: 1 })
  await call()
  t.same(await names('t-1'), DETAILED)
})

t.test('calls are recorded with details while a client watches the traces', async t => {
  const { call, names, port } = await open(t)
  const end = port.topics.subscribe(['observability.spans'], () => undefined)
  await call()
  t.same(await names('t-1'), DETAILED)
  end()
  await call()
  t.same(await names('t-1'), PLAIN)
})

t.test('concurrent calls keep their own steps', async t => {
  const { call, names } = await open(t)
  const ids = Array.from({ length: 20 }, (_, at) => at.toString(16).padStart(2, '0').repeat(16).replace(/^00/, 'ff'))
  await Promise.all(ids.map((id, at) => call(`00-${id}-${'b'.repeat(16)}-0${at % 2}`)))
  for (const [at, id] of ids.entries()) t.same(await names(id), at % 2 === 1 ? DETAILED : PLAIN)
})

t.test('a trace of many spans shows the first 1,000, and says how many it leaves out', async t => {
  const { kernel, spans } = await open(t)
  const parent = { traceId: TRACE, spanId: 'b'.repeat(16), sampled: true, requestId: 't-1' }
  for (let at = 0; at < 1_200; at++) spans().add({ parent, plugin: 'probe', name: `step ${at}`, start: at, ms: 1 })
  const { steps, omitted, text } = (await kernel.callById('observability.trace', { id: TRACE })) as any
  t.match({ count: steps.length, omitted }, { count: 1_000, omitted: 200 })
  t.match(text, /step 999 .*\n200 further spans are not shown$/)
  t.notMatch(text, /step 1000 /)
})

t.test('reads of the console are not recorded, its writes and failures are', async t => {
  const { kernel, port } = await open(t)
  const principal = { id: 'console', role: 'owner', scopes: ['*'] }
  const invoke = (id: string, input: object) =>
    port.invoke(id, input, { surface: 'console', principal }).catch(() => undefined)
  await invoke('observability.requests', {})
  await invoke('observability.requests', { since: 'yesterday' })
  await invoke('probe.work', {})
  const { traces } = (await kernel.callById('observability.traces', {})) as { traces: any[] }
  t.same(
    traces.map(({ name, error }) => [name, error]),
    [
      ['probe.work', null],
      ['observability.requests', 'OBS_SINCE_INVALID']
    ]
  )
})

const RECORD: AccessRecord = {
  time: Date.now(),
  request_id: 'r-1',
  trace_id: TRACE,
  span_id: 'b'.repeat(16),
  parent_span_id: null,
  listener: 'main',
  method: 'POST',
  route: '/notes',
  path: '/notes',
  status: 500,
  ms: 12,
  bytes: 10,
  plugin: 'probe',
  operation: null,
  principal: 'local',
  error_code: 'RUN_FAILED'
}

t.test('a request is shown with its spans and the SQL of its steps', async t => {
  const { kernel, record, spans } = await open(t)
  const parent = { traceId: TRACE, spanId: RECORD.span_id as string, requestId: 'r-1' }
  spans().add({
    parent,
    plugin: 'probe',
    name: 'INSERT notes',
    start: RECORD.time - 5,
    ms: 2,
    error: 'DBS_CONSTRAINT',
    attributes: { 'db.query.text': 'insert into notes values (?)', 'db.response.returned_rows': 0 }
  })
  record(RECORD)
  t.match(await kernel.callById('observability.request', { id: 'r-1' }), {
    request: { request_id: 'r-1', status: 500, error_code: 'RUN_FAILED' },
    statements: [{ statement: 'insert into notes values (?)', ms: 2, rows: 0, error: 'DBS_CONSTRAINT' }],
    steps: [
      { name: 'POST /notes', depth: 0, state: 'failed' },
      { name: 'INSERT notes', depth: 1, request_id: 'r-1', lane: 'INSERT notes' }
    ],
    note: ''
  })
  await t.rejects(kernel.callById('observability.request', { id: 'r-2' }), { code: 'OBS_REQUEST_UNKNOWN' })
})

t.test('traces are listed newest first, with their error, and filtered', async t => {
  const { kernel, record, call } = await open(t)
  record({ ...RECORD, trace_id: 'd'.repeat(32), request_id: 'r-0', status: 200, error_code: null })
  record(RECORD)
  await call()
  const list = async (input: object = {}) =>
    ((await kernel.callById('observability.traces', input)) as { traces: any[] }).traces
  t.match(await list(), [
    { name: 'probe.outer', spans: 2, request_id: 't-1', error: null, state: 'ok' },
    { name: 'POST /notes', trace_id: TRACE, error: 'RUN_FAILED', ms: 12, state: 'failed' },
    { name: 'POST /notes', error: null }
  ])
  t.same(
    (await list({ failed: true })).map(each => each.request_id),
    ['r-1']
  )
  t.equal((await list({ limit: 1 })).length, 1)
  t.same(await list({ plugin: 'other' }), [])
  t.same(await list({ since: new Date(Date.now() + 60_000).toISOString() }), [])
})

t.test('a feed sends new requests, then those that were added, and the keys of those that were dropped', async t => {
  const { kernel, record } = await open(t, { requests: 3 })
  const read = (since?: string) =>
    kernel.callById('observability.requests.feed', since === undefined ? {} : { since }) as Promise<any>
  for (const id of ['1', '2', '3']) record({ ...RECORD, request_id: id })
  const first = await read()
  t.match(first, { reset: true, more: false, remove: [] })
  t.same(
    first.upsert.map((row: any) => [row.key, row.request_id, row.result]),
    [
      ['0', '1', 'failed'],
      ['1', '2', 'failed'],
      ['2', '3', 'failed']
    ]
  )
  t.match(await read(first.cursor), { reset: false, upsert: [], remove: [] })
  record({ ...RECORD, request_id: '4', status: 404 })
  const second = await read(first.cursor)
  t.match(second, { reset: false, remove: ['0'], upsert: [{ key: '3', request_id: '4', result: 'refused' }] })
  for (const id of ['5', '6', '7', '8']) record({ ...RECORD, request_id: id })
  const third = await read(second.cursor)
  t.equal(third.reset, true, 'a reader that missed requests begins again')
  t.same(
    third.upsert.map((row: any) => row.request_id),
    ['6', '7', '8']
  )
  for (const since of ['', 'x', `${'z'.repeat(8)}.0.0`, 'a.b.c']) t.equal((await read(since)).reset, true)
})

t.test('a stream that fails after its begin is a failed request, in spite of its status', async t => {
  const { kernel, record } = await open(t)
  record({ ...RECORD, request_id: 'good', status: 200, error_code: null })
  record({ ...RECORD, request_id: 'late', status: 200, error_code: 'MSV_STOPPED' })
  const { requests } = (await kernel.callById('observability.requests', { failed: true })) as any
  t.match(requests, [{ request_id: 'late', status: 200, error_code: 'MSV_STOPPED' }])
  t.equal(requests.length, 1)
  const { upsert } = (await kernel.callById('observability.requests.feed', {})) as any
  t.same(
    upsert.map(({ request_id, result }: any) => [request_id, result]),
    [
      ['good', 'ok'],
      ['late', 'failed']
    ]
  )
})

t.test('changes of requests and spans are announced, many at once', async t => {
  const { record, port } = await open(t)
  const woken: string[] = []
  const both = new Promise<void>(resolve => {
    port.topics.subscribe(['observability.requests', 'observability.spans'], topic => {
      woken.push(topic)
      if (woken.length === 2) resolve()
    })
  })
  for (let count = 0; count < 100; count++) record(RECORD)
  // The timer of the announcement does not keep the process alive.
  const alive = setInterval(() => undefined, 1_000)
  await both
  clearInterval(alive)
  t.same(woken.sort(), ['observability.requests', 'observability.spans'])
})
