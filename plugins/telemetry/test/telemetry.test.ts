import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type A2aBus, type A2aMessage, a2aBus, databaseStore, type PrimaryDatabase } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t from 'tap'
import {
  benchmarkList,
  benchmarkRecord,
  telemetryDoctor,
  telemetryEnqueue,
  telemetryExport,
  telemetryStatus,
  telemetryUpload
} from '#root'
import { openReceiver, openTelemetry } from './world.ts'

const ON = { benchmarks: true }

/** Plugin that passes the database to the test. */
function probe(take: (database: PrimaryDatabase) => void): Plugin {
  return definePlugin({
    name: 'probe',
    requires: { database: databaseStore },
    activate: (_, { database }) => take(database)
  }) as Plugin
}

t.test('nothing is recorded unless it was switched on, and the answer says which setting does so', async t => {
  const kernel = await openTelemetry(t)
  const results = [{ name: 'compile_ms', value: 12, unit: 'ms' }]
  t.match(await kernel.call(benchmarkRecord, { results }), { recorded: 0, note: /plugins\.telemetry\.benchmarks/ })
  t.same((await kernel.call(benchmarkList, {})).rows, [])
  const off = await openTelemetry(t, { ...ON, recording: false })
  t.match(await off.call(benchmarkRecord, { results }), { recorded: 0, note: /plugins\.telemetry\.recording/ })
  t.same((await off.call(benchmarkList, {})).rows, [])
})

t.test('results are stored as rows of the repository, and NULL stays NULL', async t => {
  let database: PrimaryDatabase | undefined
  const kernel = await openTelemetry(t, ON, [probe(each => (database = each))])
  const results = [
    { name: 'rate', value: 0, unit: 'tokens/s', details: { model: 'm', api_key: 'k' } },
    { name: 'first_token', value: null, unit: 'ms' },
    { metric_type: 'syntax_k_event' as const, name: 'check', value: 3.5, fixture_id: 'todo.vox' }
  ]
  t.same(await kernel.call(benchmarkRecord, { results, source: 'test' }), { recorded: 3 })
  const { rows } = (await database?.query(
    'SELECT session_id, metric_type, metric_value, metadata_json FROM research_metrics ORDER BY id'
  )) ?? { rows: [] }
  t.equal(rows.length, 3)
  const [session = '', type, value, metadata] = rows[0] as string[]
  const repository = session.replace(/^bench:/, '')
  t.not(session, repository)
  t.same([type, value], ['benchmark_event', 0])
  t.same(JSON.parse(metadata ?? ''), {
    name: 'rate',
    repository_id: repository,
    metric_value_unit: 'tokens/s',
    details: { model: 'm', api_key: '***', source: 'test' }
  })
  t.equal(rows[1]?.[2], null)
  t.same(rows[2]?.slice(0, 3), [`syntaxk:${repository}`, 'syntax_k_event', 3.5])
  t.same(JSON.parse(String(rows[2]?.[3])), {
    name: 'check',
    repository_id: repository,
    fixture_id: 'todo.vox',
    details: { source: 'test' }
  })
  const listed = await kernel.call(benchmarkList, {})
  t.same(
    listed.rows.map(({ name, metric_value }) => [name, metric_value]),
    [
      ['first_token', null],
      ['rate', 0]
    ]
  )
  t.same((await kernel.call(benchmarkList, { source: 'other' })).rows, [])
  t.equal((await kernel.call(benchmarkList, { name: 'rate', source: 'test' })).rows.length, 1)
  t.match((await kernel.call(benchmarkList, { metric_type: 'syntax_k_event' })).rows, [{ fixture_id: 'todo.vox' }])
  const first = await kernel.call(telemetryExport, { limit: 2 })
  t.same(
    first.rows.map(({ name }) => name),
    ['rate', 'first_token']
  )
  const rest = await kernel.call(telemetryExport, { limit: 2, after: first.next ?? -1 })
  t.match(rest, { rows: [{ name: 'check' }], next: null })
})

t.test('the switch for fixtures follows that of benchmarks unless it is set', async t => {
  const results = [{ metric_type: 'syntax_k_event' as const, name: 'check', value: 1, fixture_id: 'a' }]
  const follows = await openTelemetry(t, ON)
  t.same(await follows.call(benchmarkRecord, { results }), { recorded: 1 })
  const separate = await openTelemetry(t, { benchmarks: true, syntax_k: false })
  t.match(await separate.call(benchmarkRecord, { results }), { recorded: 0 })
  const only = await openTelemetry(t, { syntax_k: true })
  t.match(await only.call(benchmarkRecord, { results: [...results, { name: 'a', value: 1 }] }), { recorded: 1 })
})

t.test('one invalid result refuses all of them, and names its field', async t => {
  const kernel = await openTelemetry(t, ON)
  const record = (bad: object) =>
    kernel.call(benchmarkRecord, { results: [{ name: 'good', value: 1 }, bad as { name: string }] })
  const big = { text: 'x'.repeat(262_144) }
  for (const [bad, field] of [
    [{ name: 'a', fixture_id: 'b' }, 'fixture_id'],
    [{ name: 'a', metric_type: 'syntax_k_event' }, 'fixture_id'],
    [{ name: 'a', metric_type: 'syntax_k_event', fixture_id: 'b', unit: 'ms' }, 'unit'],
    [{ name: 'a', details: big }, 'metadata_json']
  ] as const)
    await t.rejects(record(bad), { code: 'TEL_METRIC_INVALID', data: { field } })
  t.same((await kernel.call(benchmarkList, {})).rows, [])
})

t.test('a queued payload is sent without secrets to an HTTPS server, with the token, and then removed', async t => {
  const receiver = await openReceiver(t)
  const kernel = await openTelemetry(t, { upload_url: receiver.url, upload_token: 'the-token' })
  const payload = {
    a: 1,
    max_tokens: 5,
    accessToken: 'x',
    nested: [{ note: 'Bearer abcdefghijkl', url: 'https://u:p@h/' }]
  }
  const { id } = await kernel.call(telemetryEnqueue, { payload: JSON.stringify(payload) })
  await kernel.call(telemetryEnqueue, { payload: '{"b": "the-token"}' })
  const dry = await kernel.call(telemetryUpload, { dry_run: true })
  t.match(dry, { dry_run: true, pending: 2, sent: 0 })
  t.same(receiver.received, [])
  t.match(await kernel.call(telemetryUpload, {}), { healthy: true, pending: 2, sent: 2, failed: 0, failures: [] })
  const [first, second] = receiver.received
  t.match(first?.headers, {
    authorization: 'Bearer the-token',
    'content-type': 'application/json',
    'idempotency-key': id
  })
  t.same(first?.body, { a: 1, max_tokens: 5, accessToken: '***', nested: [{ note: '***', url: 'https://***@h/' }] })
  t.same(Object.keys(second?.body ?? {}), ['b'], 'payloads are sent in their order')
  t.match(await kernel.call(telemetryStatus, {}), { pending: 0, token_set: true })
  t.notMatch(JSON.stringify([await kernel.call(telemetryStatus, {}), kernel.log]), 'the-token')
})

t.test('payloads that the server does not accept stay in the queue, and redirects are not followed', async t => {
  const receiver = await openReceiver(t)
  receiver.statuses.push(500, 302, 200)
  const kernel = await openTelemetry(t, { upload_url: receiver.url })
  for (const n of [1, 2, 3]) await kernel.call(telemetryEnqueue, { payload: JSON.stringify({ n }) })
  const report = await kernel.call(telemetryUpload, {})
  t.match(report, { healthy: false, sent: 1, failed: 2, stopped: false })
  t.same(
    report.failures.map(({ reason }) => reason),
    ['the server answered 500', 'the server answered 302']
  )
  t.match(await kernel.call(telemetryStatus, {}), { pending: 2 })
  t.equal(kernel.log.filter(({ level }) => level === 'warn').length, 2)
  t.match(await kernel.call(telemetryUpload, {}), { healthy: true, sent: 2 }, 'the next upload sends them')
})

t.test('an upload to a server that hangs or drops connections ends, and keeps the payloads', async t => {
  const receiver = await openReceiver(t)
  receiver.statuses.push(0, -1, -1)
  const kernel = await openTelemetry(t, { upload_url: receiver.url, upload_timeout_ms: 1_000 })
  for (const n of [1, 2, 3, 4, 5]) await kernel.call(telemetryEnqueue, { payload: JSON.stringify({ n }) })
  const report = await kernel.call(telemetryUpload, {})
  t.match(report, { healthy: false, pending: 5, sent: 0, failed: 3, stopped: true })
  t.match(report.failures, [{ reason: 'no answer within 1000 ms' }, { reason: 'ECONNRESET' }, {}])
  t.match(await kernel.call(telemetryStatus, {}), { pending: 5 })
})

t.test('a payload that another process sent meanwhile is skipped', async t => {
  const receiver = await openReceiver(t)
  const kernel = await openTelemetry(t, { upload_url: receiver.url })
  for (const n of [1, 2]) await kernel.call(telemetryEnqueue, { payload: JSON.stringify({ n }) })
  const { spool } = await kernel.call(telemetryStatus, {})
  const [, second = ''] = readdirSync(join(spool, 'pending')).sort()
  receiver.onRequest = () => rmSync(join(spool, 'pending', second))
  t.match(await kernel.call(telemetryUpload, {}), { healthy: true, pending: 2, sent: 1, failed: 0 })
  t.same(
    receiver.received.map(({ body }) => body),
    [{ n: 1 }]
  )
})

t.test('an upload is only sent to HTTPS, and never by itself', async t => {
  const kernel = await openTelemetry(t)
  await kernel.call(telemetryEnqueue, { payload: '{}' })
  for (const url of [undefined, 'http://127.0.0.1/', 'ftp://h/', 'https://user:pass@h/', 'nonsense'])
    await t.rejects(kernel.call(telemetryUpload, url === undefined ? {} : { url }), { code: 'TEL_UPLOAD_URL' })
  t.match(await kernel.call(telemetryStatus, {}), { pending: 1 })
})

t.test('another server than the configured one does not receive the token', async t => {
  const receiver = await openReceiver(t)
  const kernel = await openTelemetry(t, { upload_url: 'https://elsewhere.invalid/', upload_token: 'secret-token' })
  await kernel.call(telemetryEnqueue, { payload: '{}' })
  t.match(await kernel.call(telemetryUpload, { url: receiver.url }), { sent: 1 })
  t.notOk(receiver.received[0]?.headers.authorization)
})

t.test(
  'an upload URL that cannot be parsed does not hide the state, and no other server receives the token',
  async t => {
    const receiver = await openReceiver(t)
    const kernel = await openTelemetry(t, { upload_url: 'https://[', upload_token: 'secret-token' })
    await kernel.call(telemetryEnqueue, { payload: '{}' })
    t.match(await kernel.call(telemetryStatus, {}), { pending: 1, upload_url: null })
    t.match(await kernel.call(telemetryUpload, { url: receiver.url }), { sent: 1 })
    t.notOk(receiver.received[0]?.headers.authorization)
  }
)

t.test('while telemetry is off, nothing is queued or uploaded', async t => {
  const kernel = await openTelemetry(t, { recording: false, upload_url: 'https://127.0.0.1:1/' })
  await t.rejects(kernel.call(telemetryEnqueue, { payload: '{}' }), { code: 'TEL_OFF' })
  await t.rejects(kernel.call(telemetryUpload, {}), { code: 'TEL_OFF' })
})

t.test('a payload that is no object, or is too large, is refused', async t => {
  const kernel = await openTelemetry(t)
  for (const payload of ['[]', '12', '{"a":1,"a":2}', '{"a"', JSON.stringify({ a: 'x'.repeat(262_144) })])
    await t.rejects(kernel.call(telemetryEnqueue, { payload }), { code: 'TEL_PAYLOAD_INVALID' })
  t.match(await kernel.call(telemetryStatus, {}), { pending: 0 })
})

t.test('the doctor finds a queue that cannot be written', async t => {
  const kernel = await openTelemetry(t, { spool_dir: 'svc.toml/queue' })
  writeFileSync(`${kernel.root}/svc.toml`, '')
  const report = await kernel.call(telemetryDoctor, {})
  t.equal(report.healthy, false)
  t.match(
    report.checks.filter(({ ok }) => !ok),
    [{ check: 'upload queue', hint: /spool_dir/ }]
  )
  await t.rejects(kernel.call(telemetryEnqueue, { payload: '{}' }), { code: 'TEL_SPOOL_FAILED' })
  t.match(await (await openTelemetry(t)).call(telemetryDoctor, {}), { healthy: true })
})

t.test('broadcasts of the bus are traced while the plugin is active', async t => {
  const listeners = new Set<(message: A2aMessage) => void>()
  const bus = {
    subscribe(listener: (message: A2aMessage) => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    }
  }
  const provider = definePlugin({
    name: 'bus',
    provides: [a2aBus],
    activate: ctx => ctx.provide(a2aBus, bus as unknown as A2aBus)
  }) as Plugin
  const path = join(t.testdir(), 'trace.jsonl')
  const kernel = await openTelemetry(t, { dogfood_trace_path: path }, [provider])
  const message = { sender: 3, receiver: null, msg_type: 'free_form', payload: 'hello' } as A2aMessage
  for (const listener of listeners) listener(message)
  await kernel.close()
  t.equal(listeners.size, 0)
  t.match(JSON.parse(readFileSync(path, 'utf8')), { response: 'hello', schema_version: 'vox_dogfood_v1' })
})
