import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AccessRecord, type LogLines, logLines, observabilitySink } from '@svc/contracts'
import { definePlugin, ref } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import { LogFile, readLogLines } from '../src/log-file.ts'
import plugin from '../src/plugin.ts'
import { Ring } from '../src/ring.ts'

const line = (msg: string, fields: object = {}, level = 30): string =>
  `${JSON.stringify({ level, time: '2026-01-31T12:00:00.000Z', ...fields, msg })}\n`

const RECORD: AccessRecord = {
  time: Date.parse('2026-01-31T12:00:00.000Z'),
  request_id: 't-1',
  trace_id: null,
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

/** The plugin with a log that the test writes. */
async function open(settings: object = {}) {
  const listeners = new Set<(line: string) => void>()
  const lines: LogLines = {
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
  }
  let sink: { readonly current: { request(record: AccessRecord): void } } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { sink: ref(observabilitySink) },
    activate: (_ctx, deps) => {
      sink = deps.sink
    }
  })
  const services = [{ token: logLines, value: lines }]
  const kernel = await testKernel([plugin, probe], { settings: { observability: settings }, services })
  return {
    kernel,
    path: join(kernel.root, '.vox', 'logs', 'svc.jsonl'),
    write: (text: string) => {
      for (const listener of listeners) listener(text)
    },
    record: (record: AccessRecord) => sink?.current.request(record),
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

t.test('without a server, lines and requests come from the log file', async t => {
  const first = await open()
  const { time: _time, plugin: served_by, trace_id: _none, ...fields } = RECORD
  first.write(line('request', { plugin: 'http', ...fields, served_by }))
  first.write(line('something else', { plugin: 'http', request_id: 't-1' }))
  const text = readFileSync(first.path, 'utf8')
  await first.kernel.close()

  const alone = await testKernel([plugin])
  t.teardown(() => alone.close())
  t.same(((await alone.callById('observability.logs', {})) as { lines: unknown[] }).lines, [], 'there is no file')
  const file = new LogFile({ path: join(alone.root, '.vox', 'logs', 'svc.jsonl'), maxBytes: 1e6, maxFiles: 2 })
  for (const each of text.split('\n').filter(Boolean)) file.append(each)
  file.close()
  const { lines } = (await alone.callById('observability.logs', { request: 't-1' })) as { lines: unknown[] }
  t.equal(lines.length, 2)
  t.match(await alone.callById('observability.requests', {}), {
    requests: [{ ...RECORD, time: '2026-01-31T12:00:00.000Z', ms: 1.2 }],
    note: /no server runs/
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
  for (const listener of listeners) listener(line('kept as well'))
  t.equal(((await kernel.callById('observability.logs', {})) as { lines: unknown[] }).lines.length, 2)
  t.equal(kernel.log.filter(({ message }) => /cannot write/.test(message)).length, 1)
})

t.test('the log file is rotated at its maximum size, and only the configured number is kept', async t => {
  const path = join(t.testdir(), 'logs', 'svc.jsonl')
  const file = new LogFile({ path, maxBytes: 100, maxFiles: 3 })
  for (let count = 0; count < 20; count++) file.append(`${'x'.repeat(40)} ${count}`)
  file.close()
  t.ok(existsSync(`${path}.2`) && !existsSync(`${path}.3`))
  const numbers = readLogLines(path).map(each => Number(each.split(' ')[1]))
  t.same(
    numbers,
    [...numbers].sort((a, b) => a - b),
    'oldest first'
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
  t.equal(byBytes.size, 1, 'the newest item stays, even if it is over the limit')
})
