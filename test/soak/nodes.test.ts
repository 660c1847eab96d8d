import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { HttpClient } from '../../tools/soak/http-client.ts'
import { Ledger, Refusal, Unavailable, type Violation } from '../../tools/soak/ledger.ts'
import { logViolation } from '../../tools/soak/log-judge.ts'
import { summarise } from '../../tools/soak/report.ts'
import { slopePerHour } from '../../tools/soak/statistics.ts'

const HOUR_MS = 3_600_000
const MIB = 1024 * 1024

t.test('a failure is excused in a fault window of its node, and a violation elsewhere', async t => {
  const seen: Violation[] = []
  const ledger = new Ledger(violation => seen.push(violation))
  const fail = (): Promise<never> => Promise.reject(new Unavailable('no answer'))
  await ledger.attempt('rows', 'one', fail)
  t.match(seen, [{ load: 'rows', node: 'one', text: 'Unavailable: no answer' }])

  const end = ledger.disturb('one', 'kill -9')
  await ledger.attempt('rows', 'one', fail)
  await ledger.attempt('rows', 'two', fail)
  await ledger.attempt('rows', 'one', () => Promise.reject(new Error('a row is lost')))
  end()
  t.match(
    seen.slice(1),
    [
      { node: 'two', text: 'Unavailable: no answer' },
      { node: 'one', text: 'Error: a row is lost' }
    ],
    'a fault excuses missing answers of its node, not wrong ones'
  )
  t.equal(await ledger.attempt('rows', 'one', async () => 5), 5)
  await ledger.attempt('rows', 'one', async () => new Refusal(400))
  t.same(ledger.totals(), { ok: 1, refused: 1, excused: 1, starved: 0, violation: 3 })
})

t.test('an error without a code is wrong, whatever happens to the server', async t => {
  const answers: Readonly<Record<string, readonly [status: number, body: string]>> = {
    '/typed': [503, '{"error":{"code":"DBS_FILE_LOST","message":"the file is gone"}}'],
    '/plain': [500, 'Internal Server Error'],
    '/ollama': [503, '{"error":"the model is loading"}'],
    '/mesh': [409, 'mesh: another node has the lease']
  }
  const server = createServer((request, response) => {
    const [status, body] = answers[request.url ?? ''] ?? [200, '{}']
    response.writeHead(status).end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = new HttpClient()
  t.teardown(() => client.close())
  t.same(await client.json(`${url}/`), {})
  t.equal((await client.request(`${url}/typed`, { expect: [503] })).status, 503)
  for (const path of ['/typed', '/mesh']) await t.rejects(client.request(url + path), Unavailable, path)
  await t.rejects(client.request(`${url}/ollama`, { isOllama: true }), Unavailable)
  for (const path of ['/plain', '/ollama']) await t.rejects(client.request(url + path), /an error without a code/, path)
})

t.test('errors in the log need a fault; crashes and stray output are always wrong', async t => {
  const line = { time: 0, level: 50, plugin: 'database', code: 'DBS_BUSY', text: 'locked', listener: '' }
  t.equal(
    logViolation(line, '{}', () => true),
    null
  )
  t.equal(
    logViolation(line, '{}', () => false),
    'database: DBS_BUSY locked'
  )
  t.equal(
    logViolation({ ...line, level: 40 }, '{}', () => false),
    null
  )
  const request = { ...line, plugin: 'http', text: 'request' }
  t.equal(
    logViolation({ ...request, listener: 'main' }, '{}', () => false),
    null,
    'the client judges its answer'
  )
  t.match(
    logViolation({ ...request, listener: 'mesh' }, '{}', () => false),
    /http/
  )
  t.match(
    logViolation(null, 'Segmentation fault', () => true),
    /not a line of the log/
  )
  t.match(
    logViolation(line, 'unhandledRejection: x', () => true),
    /unhandledRejection/
  )
})

t.test('the slope is that of most points', async t => {
  const points = Array.from({ length: 100 }, (_, index) => {
    const outlier = index % 7 === 0 ? 1_000 : 0
    return [index * 36_000, 200 + index * 0.05 + outlier] as const
  })
  t.ok(Math.abs(slopePerHour(points) - 5) < 0.5)
  t.ok(Number.isNaN(slopePerHour([[0, 1]])))
})

/** Writes what a soak of two hours records, in which the memory of node two grows. */
function recordedRun(t: Test, growthMiB: number): string {
  const out = t.testdir()
  const phases = [
    { name: 'kills', from: 0, to: HOUR_MS },
    { name: 'load only', from: HOUR_MS, to: 2 * HOUR_MS }
  ]
  const lifetime = { pid: 7, from: 0, readyAt: 2_000, to: 2 * HOUR_MS, how: '0' }
  const counts = { tasks: { ok: 10, refused: 0, excused: 2, starved: 0, violation: 0 } }
  const run = {
    minutes: 120,
    from: 0,
    to: 2 * HOUR_MS,
    phases,
    node: 'v20',
    lifetimes: { one: [lifetime], two: [lifetime] },
    counts
  }
  writeFileSync(join(out, 'run.json'), JSON.stringify(run))
  writeFileSync(join(out, 'events.jsonl'), '{"time":1000,"node":"one","kind":"kill -9"}\n')
  const append = (file: string, value: object): void => appendFileSync(join(out, file), `${JSON.stringify(value)}\n`)
  for (let time = 0; time <= 2 * HOUR_MS; time += 60_000) {
    append('totals.jsonl', { time, ok: time / 100, refused: 0, excused: 0 })
    for (const node of ['one', 'two']) {
      const rss = (300 + (node === 'two' ? (growthMiB * time) / HOUR_MS : 0)) * MIB
      const files = { '.vox/store.db': 1_000_000 + time / 10 }
      append('samples.jsonl', { time, node, pid: 7, rss, heap: 100 * MIB, handles: 90, threads: 20, cpu: 1, files })
    }
  }
  return out
}

t.test('a run passes if nothing grows, and its summary and plot show what was measured', async t => {
  const out = recordedRun(t, 0)
  const { text, isPassed } = summarise(out)
  t.equal(isPassed, true, text)
  t.match(text, '| tasks | 10 | 0 | 2 | 0 | 0 |')
  t.match(text, '| kill -9 | 1 |')
  t.match(text, '| node two | 60 | 0.0 | 0.0 | 0.0 | 0.0 |')
  t.match(text, '.vox/store.db')
  t.equal(readFileSync(join(out, 'summary.md'), 'utf8'), text)
  const plot = readFileSync(join(out, 'soak.svg'), 'utf8')
  t.match(plot, /<title id="title">A soak of 120 minutes: /)
  t.notMatch(plot, /NaN|undefined|Infinity/)
})

t.test('a run fails if memory grows, or after a violation', async t => {
  const { text, isPassed } = summarise(recordedRun(t, 20))
  t.equal(isPassed, false)
  t.match(text, 'node two: rssMiB grows by 20.0 per hour; the limit is 5')

  const out = recordedRun(t, 0)
  writeFileSync(
    join(out, 'violations.jsonl'),
    '{"load":"tasks","node":"one","text":"the acknowledged task 5 is lost"}\n'
  )
  t.match(summarise(out), { isPassed: false, text: /failed: 1 violations/ })
})
