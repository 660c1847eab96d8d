import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type AccessRecord,
  type LogLines,
  logLines,
  type ObservabilitySink,
  type ObservabilitySpans,
  observabilitySink,
  observabilitySpans
} from '@svc/contracts'
import { defineOperation, definePlugin, ref, t as s } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import plugin from '#plugin'
import { LogFile, Ring, readLogLines } from '#root'
import { finished } from './finished.ts'

const line = (msg: string, fields: object = {}, level = 30): string =>
  `${JSON.stringify({ level, time: '2026-01-31T12:00:00.000Z', ...fields, msg })}\n`

const RECORD: AccessRecord = {
  time: Date.parse('2026-01-31T12:00:00.000Z'),
  request_id: 't-1',
  trace_id: null,
  span_id: null,
  parent_span_id: null,
  listener: 'main',
  method: 'GET',
  route: '/v1/things/:id',
  path: '/v1/things/7',
  status: 404,
  ms: 1.2345,
  bytes: 120,
  plugin: 'things',
  operation: 'things.get',
  principal: 'local',
  error_code: 'THING_UNKNOWN'
}

const inner = defineOperation({
  id: 'probe.inner',
  summary: 'x',
  input: s.object({ fails: s.boolean({ default: false }) }),
  output: s.object({}),
  errors: { PROBE_REFUSED: { message: 'Refused.', status: 409 } }
})
const outer = defineOperation({
  id: 'probe.outer',
  summary: 'x',
  input: s.object({ fails: s.boolean({ default: false }) }),
  output: s.object({ trace: s.string() })
})

/** Waits for the end of this turn of the event loop, when log lines are written. */
const turn = () => new Promise(resolve => setImmediate(resolve))

/** Secret of a plugin. */
const TOKEN = 'token-of-the-probe'

/** Opens the plugin with a log that the test writes. */
async function open(settings: object = {}) {
  const listeners = new Set<(line: string) => void>()
  const lines: LogLines = {
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
  }
  let sink: { readonly current: ObservabilitySink } | undefined
  let spans: { readonly current: ObservabilitySpans } | undefined
  const probe = definePlugin({
    name: 'probe',
    config: s.object({ token: s.optional(s.secret()) }),
    requires: { sink: ref(observabilitySink), spans: ref(observabilitySpans) },
    operations: [outer, inner],
    activate: (ctx, deps) => {
      sink = deps.sink
      spans = deps.spans
      ctx.implement(inner, ({ fails }, call) => {
        if (fails) call.fail('PROBE_REFUSED')
        return {}
      })
      ctx.implement(outer, async (input, call) => {
        const step = deps.spans.current.start('probe.work', call, { rows: 1 })
        step.set({ rows: 2 })
        step.end()
        step.end(new Error('too late'))
        await ctx.call(inner, input, { parent: call }).catch(() => undefined)
        return { trace: call.traceId }
      })
    }
  })
  const services = [{ token: logLines, value: lines }]
  const kernel = await testKernel([plugin, probe], {
    settings: { observability: settings, probe: { token: TOKEN } },
    services
  })
  return {
    kernel,
    path: join(kernel.root, '.vox', 'logs', 'svc.jsonl'),
    write: (text: string) => {
      for (const listener of listeners) listener(text)
    },
    record: (record: AccessRecord) => sink?.current.request(finished(record)),
    spans: () => spans?.current as ObservabilitySpans,
    trace: (id: string) => kernel.callById('observability.trace', { id }) as Promise<{ steps: any[]; text: string }>,
    logs: (input: object = {}) =>
      kernel.callById('observability.logs', input) as Promise<{ lines: any[]; text: string }>,
    requests: (input: object = {}) => kernel.callById('observability.requests', input) as Promise<{ requests: any[] }>
  }
}

t.test('log lines are filtered by plugin, level, request and time', async t => {
  const { kernel, write, logs } = await open()
  t.teardown(() => kernel.close())
  write(line('first', { plugin: 'a', request_id: 't-1' }))
  write(line('second', { plugin: 'b', request_id: 't-1' }, 50))
  write(line('third', { plugin: 'b' }, 40))
  const found = async (input: object): Promise<string[]> => (await logs(input)).lines.map(each => each.message)
  t.same(await found({}), ['first', 'second', 'third'])
  t.same(await found({ request: 't-1' }), ['first', 'second'])
  t.same(await found({ plugin: 'b' }), ['second', 'third'])
  t.same(await found({ level: 'warn' }), ['second', 'third'])
  t.same(await found({ since: '2026-01-31T12:00:01Z' }), [])
  t.same(await found({ limit: 1 }), ['third'])
  t.match((await logs({ request: 't-1' })).text, /ERROR \[b\] second {2}request_id=t-1/)
  await t.rejects(logs({ since: 'yesterday' }), { code: 'OBS_SINCE_INVALID', hint: /10m/ })
})

t.test('a reload keeps lines and records', async t => {
  const { kernel, write, record, logs, requests } = await open()
  t.teardown(() => kernel.close())
  write(line('before'))
  record(RECORD)
  await kernel.replace(definePlugin({ ...plugin }))
  write(line('after'))
  t.same(
    (await logs()).lines.map(each => each.message),
    ['before', 'after']
  )
  t.match(await requests({ request: 't-1' }), {
    requests: [{ time: '2026-01-31T12:00:00.000Z', path: '/v1/things/7', ms: 1.2, error_code: 'THING_UNKNOWN' }]
  })
  t.same((await requests({ failed: true, plugin: 'other' })).requests, [])
})

t.test('a trace shows operations and spans of plugins below their callers', async t => {
  const { kernel, trace } = await open()
  t.teardown(() => kernel.close())
  const { trace: id } = (await kernel.callById('probe.outer', {})) as { trace: string }
  const { steps, text } = await trace(id)
  t.match(
    steps.map(({ name, kind, depth, plugin, error }) => ({ name, kind, depth, plugin, error })),
    [
      { name: 'probe.outer', kind: 'operation', depth: 0, plugin: 'probe', error: null },
      { name: 'probe.work', kind: 'step', depth: 1, plugin: null, error: null },
      { name: 'probe.inner', kind: 'operation', depth: 1, plugin: 'probe', error: null }
    ]
  )
  t.same(steps[1].attributes, { rows: 2 })
  t.equal(steps[1].parent_id, steps[0].span_id)
  t.match(text, new RegExp(`^trace ${id}  request .*\\nprobe\\.outer .*\\n {2}probe\\.work .*\\n {2}probe\\.inner `))
  t.same((await trace(steps[2].span_id)).steps, steps, 'the id of a span finds its trace')
})

t.test('a failed operation is marked with its code, and a failed span with its message', async t => {
  const { kernel, trace, spans } = await open()
  t.teardown(() => kernel.close())
  const { trace: id } = (await kernel.callById('probe.outer', { fails: true })) as { trace: string }
  const { steps, text } = await trace(id)
  t.match(steps, [{ error: null }, { error: null }, { name: 'probe.inner', error: 'PROBE_REFUSED' }])
  t.match(text, /\[probe\] {2}PROBE_REFUSED/)
  const step = spans().start('alone\u001b[2J')
  step.end(new Error('no\u0007 luck'))
  const alone = await trace(step.traceId)
  t.match(alone.steps, [{ parent_id: null, request_id: null, depth: 0 }])
  for (const control of ['\u001b', '\u0007'])
    t.notOk(alone.text.includes(control), 'a name cannot control the terminal')
})

t.test('a step shows no secret, and a long text only in part', async t => {
  const { kernel, trace, spans } = await open()
  t.teardown(() => kernel.close())
  const span = spans().start(`ask ${TOKEN}`, undefined, {
    'db.query.text': `SELECT '${TOKEN}'`,
    rows: 2,
    answer: 'x'.repeat(1_000_000)
  })
  span?.end(new Error(`401 for ${TOKEN}`))
  const { steps, text } = await trace(span?.traceId ?? '')
  t.match(steps, [{ name: 'ask ***', error: '401 for ***', statement: "SELECT '***'", attributes: { rows: 2 } }])
  t.notMatch(text, TOKEN)
  t.notMatch(JSON.stringify(steps), TOKEN)
  t.equal(steps[0].attributes.answer.length, 4_001)
})

t.test('a request is the first span of its trace, even if others end first', async t => {
  const { kernel, record, spans, trace } = await open()
  t.teardown(() => kernel.close())
  const request = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }
  spans().start('inside', request).end()
  record({ ...RECORD, trace_id: request.traceId, span_id: request.spanId, parent_span_id: 'c'.repeat(16), ms: 1e3 })
  const { steps } = await trace('t-1')
  t.match(
    steps.map(({ name, depth, kind }) => ({ name, depth, kind })),
    [
      { name: 'GET /v1/things/:id', depth: 0, kind: 'request' },
      { name: 'inside', depth: 1, kind: 'step' }
    ]
  )
  t.match(steps[0], {
    error: 'THING_UNKNOWN',
    attributes: { 'http.response.status_code': 404, 'http.route': '/v1/things/:id', 'url.path': '/v1/things/7' },
    parent_id: 'c'.repeat(16)
  })
  await t.rejects(trace('unknown'), { code: 'OBS_TRACE_UNKNOWN', hint: /svc requests|svc serve/ })
})

t.test('only the newest spans are kept', async t => {
  const { kernel, spans, trace } = await open({ spans: 2 })
  t.teardown(() => kernel.close())
  const [first, ...others] = [1, 2, 3].map(() => {
    const step = spans().start('x')
    step.end()
    return step.traceId
  })
  t.equal((await trace(others[1] as string)).steps.length, 1)
  await t.rejects(trace(first as string), { code: 'OBS_TRACE_UNKNOWN' })
})

t.test('if no server runs, lines and requests are read from the log file', async t => {
  const first = await open()
  const { time: _time, plugin: served_by, trace_id: _none, ...fields } = RECORD
  first.write(line('request', { plugin: 'http', ...fields, served_by }))
  first.write(line('something else', { plugin: 'http', request_id: 't-1' }))
  await turn()
  const text = readFileSync(first.path, 'utf8')
  await first.kernel.close()

  const alone = await testKernel([plugin])
  t.teardown(() => alone.close())
  t.same(
    ((await alone.callById('observability.logs', {})) as { lines: unknown[] }).lines,
    [],
    'a missing file has no lines'
  )
  const file = new LogFile({ path: join(alone.root, '.vox', 'logs', 'svc.jsonl'), maxBytes: 1e6, maxFiles: 2 })
  for (const each of text.split('\n').filter(Boolean)) file.append(each)
  file.close()
  const { lines } = (await alone.callById('observability.logs', { request: 't-1' })) as { lines: unknown[] }
  t.equal(lines.length, 2)
  t.match(await alone.callById('observability.requests', {}), {
    requests: [{ ...RECORD, time: '2026-01-31T12:00:00.000Z', ms: 1.2 }],
    note: /from the files in/
  })
})

t.test('a request of an earlier run is found by its id, and says that its spans are gone', async t => {
  const { kernel, write } = await open()
  t.teardown(() => kernel.close())
  const { time: _time, plugin: served_by, trace_id: _none, ...fields } = RECORD
  write(line('request', { plugin: 'http', ...fields, served_by }))
  await turn()
  t.same(((await kernel.callById('observability.requests', {})) as { requests: unknown[] }).requests, [])
  t.match(await kernel.callById('observability.request', { id: RECORD.request_id }), {
    request: { request_id: RECORD.request_id, path: RECORD.path },
    steps: [],
    note: 'Read from the log files; spans are kept in memory until svc stops.'
  })
})

t.test('a log that cannot be written is kept in memory', async t => {
  const blocker = definePlugin({
    name: 'blocker',
    activate: ctx => writeFileSync(join(ctx.projectRoot, '.vox'), 'in the way')
  })
  const listeners: ((line: string) => void)[] = []
  const lines: LogLines = {
    subscribe(listener) {
      listeners.push(listener)
      return () => undefined
    }
  }
  const kernel = await testKernel([blocker, plugin], { services: [{ token: logLines, value: lines }] })
  t.teardown(() => kernel.close())
  for (const listener of listeners) listener(line('kept'))
  await turn()
  for (const listener of listeners) listener(line('kept as well'))
  await turn()
  t.equal(((await kernel.callById('observability.logs', {})) as { lines: unknown[] }).lines.length, 2)
  t.equal(kernel.log.filter(({ message }) => /cannot write/.test(message)).length, 1)
})

t.test('the log file is rotated at its maximum size, and only the configured number is kept', async t => {
  const path = join(t.testdir(), 'logs', 'svc.jsonl')
  const file = new LogFile({ path, maxBytes: 100, maxFiles: 3 })
  for (let count = 0; count < 20; count++) file.append(`${'x'.repeat(40)} ${count}`)
  file.close()
  t.ok(existsSync(`${path}.2`) && !existsSync(`${path}.3`))
  const numbers = (await readLogLines(path)).map(each => Number(each.split(' ')[1]))
  t.same(
    numbers,
    [...numbers].sort((a, b) => a - b),
    'lines are returned oldest first'
  )
  t.equal(numbers.at(-1), 19)
  t.ok(numbers.length <= 6)
})

t.test('a ring keeps the newest items within its count and byte limits', async t => {
  const byNumber = new Ring<number>({ maxItems: 3 })
  for (let count = 0; count < 10; count++) byNumber.push(count)
  t.same(byNumber.items(), [7, 8, 9])
  const byBytes = new Ring<string>({ maxItems: 100, maxBytes: 10, bytesOf: text => text.length })
  for (const text of ['aaaa', 'bbbb', 'cccc']) byBytes.push(text)
  t.same(byBytes.items(), ['bbbb', 'cccc'])
  byBytes.push('x'.repeat(50))
  t.equal(byBytes.size, 1, 'the newest item is kept, even if it exceeds the limit')
})
