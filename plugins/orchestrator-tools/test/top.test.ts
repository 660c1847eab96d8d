import { EventEmitter, once } from 'node:events'
import { PassThrough } from 'node:stream'
import type { AgentEvent } from '@svc/contracts'
import { type CommandIo, waitForAbort } from '@svc/plugin-sdk'
import fc from 'fast-check'
import stringWidth from 'string-width'
import t from 'tap'
import {
  eventLine,
  fit,
  frame,
  RateCounter,
  type Snapshot,
  type Source,
  type StatusReport,
  topCommand,
  Watcher
} from '#top'
import { openWorld, until } from './open-world.ts'
import { secondDaemon } from './second-daemon.ts'

/** A terminal that records its output. */
class FakeTerminal extends EventEmitter {
  readonly isTTY = true
  columns = 100
  rows = 20
  written = ''
  raw = false
  setRawMode(on: boolean): void {
    this.raw = on
  }
  resume(): void {}
  pause(): void {}
  write(text: string): boolean {
    this.written += text
    return true
  }
  press(keys: string): void {
    this.emit('data', Buffer.from(keys))
  }
  /** Lines of the last frame. */
  get lines(): string[] {
    const last = this.written.split('\x1b[?2026h\x1b[H').at(-1) ?? ''
    return (
      last
        .split('\x1b[J')[0]
        ?.split('\r\n')
        .map(line => line.replaceAll('\x1b[K', '')) ?? []
    )
  }
}

function ioOf(stream: unknown, json = false): CommandIo & { readonly abort: () => void } {
  const controller = new AbortController()
  const io = { stdin: stream, stdout: stream, stderr: new PassThrough(), json, signal: controller.signal }
  return { ...(io as unknown as CommandIo), abort: () => controller.abort() }
}

/** Opens a pipe whose output can be read as lines. */
function pipe() {
  const stream = new PassThrough()
  let text = ''
  stream.on('data', data => void (text += data))
  return { stream, lines: () => text.split('\n').slice(0, -1) }
}

const task = { description: 'Do it', files: [] }

t.test('shows its own orchestrator, with a note, if no daemon runs', async t => {
  const { orchestrator, tasks, kernel } = await openWorld(t)
  await orchestrator.submit({ ...task, agent_name: 'builder' })
  const { stream, lines } = pipe()
  const code = await topCommand({ projectRoot: kernel.root, orchestrator, tasks })({}, ioOf(stream))
  t.equal(code, 0)
  const text = lines().join('\n')
  t.match(text, /no daemon runs; this is the orchestrator of this process only/)
  t.match(text, /in memory: no database is attached/)
  t.match(text, /queued 1 {2}in progress 0/)
  t.match(text, /A-01 +builder +1 +- /)
  t.match(text, /task_submitted {2}T-0001 {2}A-01 {2}Do it/)
})

t.test('--json prints one object per line, up to the requested count or until interrupted', async t => {
  const { orchestrator, tasks, kernel } = await openWorld(t)
  const top = topCommand({ projectRoot: kernel.root, orchestrator, tasks })
  const some = pipe()
  await top({ count: 2, interval: 100 }, ioOf(some.stream, true))
  t.equal(some.lines().length, 2)
  for (const line of some.lines())
    t.match(JSON.parse(line), {
      at_ms: Number,
      origin: { kind: 'in_process' },
      lost: null,
      status: { total_queued: 0, outbox: { pending: 0 }, agents: [] },
      rates: { submitted: 0, completed: 0, failed: 0 },
      events: []
    })
  const more = pipe()
  const io = ioOf(more.stream, true)
  const running = top({ interval: 100 }, io)
  await until(() => more.lines().length >= 3)
  io.abort()
  t.equal(await running, 0)
})

t.test('the live view draws, pauses, continues, resizes, and restores the terminal', async t => {
  const { orchestrator, tasks, kernel } = await openWorld(t)
  const terminal = new FakeTerminal()
  const listeners = process.listenerCount('exit')
  const running = topCommand({ projectRoot: kernel.root, orchestrator, tasks })({ interval: 100 }, ioOf(terminal))
  const shows = (pattern: RegExp) => until(() => terminal.lines.some(line => pattern.test(line)))
  await shows(/queued 0/)
  t.ok(terminal.raw)
  t.ok(terminal.written.startsWith('\x1b[?1049h\x1b[?25l'))
  await orchestrator.submit({ ...task, agent_name: 'builder' })
  await shows(/queued 1/)
  terminal.press('p')
  await shows(/PAUSED/)
  await orchestrator.submit(task)
  terminal.columns = 40
  terminal.emit('resize')
  t.ok(terminal.lines.every(line => line.length <= 40))
  t.ok(
    terminal.lines.some(line => /queued 1/.test(line)),
    'a paused view does not change'
  )
  terminal.press('p')
  await shows(/queued 2/)
  terminal.rows = 4
  terminal.emit('resize')
  t.equal(terminal.lines.length, 4)
  terminal.press('q')
  t.equal(await running, 0)
  t.notOk(terminal.raw)
  t.ok(terminal.written.endsWith('\x1b[?25h\x1b[?1049l'))
  t.equal(terminal.listenerCount('data') + terminal.listenerCount('resize'), 0)
  t.equal(process.listenerCount('exit'), listeners)
})

t.test('Ctrl-C ends the view, as a key and as a signal', async t => {
  const { orchestrator, tasks, kernel } = await openWorld(t)
  const top = topCommand({ projectRoot: kernel.root, orchestrator, tasks })
  for (const end of ['key', 'signal']) {
    const terminal = new FakeTerminal()
    const io = ioOf(terminal)
    const running = top({}, io)
    await until(() => terminal.lines.length > 3)
    if (end === 'key') terminal.press('\x03')
    else io.abort()
    t.equal(await running, 0)
    t.ok(terminal.written.endsWith('\x1b[?25h\x1b[?1049l'), end)
  }
})

t.test('follows the daemon, reports its loss, and finds the next one', async t => {
  const first = await secondDaemon(t)
  const { orchestrator, tasks } = await openWorld(t)
  const { stream, lines } = pipe()
  const io = ioOf(stream, true)
  const running = topCommand({ projectRoot: first.root, orchestrator, tasks })({ interval: 100 }, io)
  const snapshots = () => lines().map(line => JSON.parse(line) as Snapshot)
  const { callDaemon } = await import('@svc/contracts')
  await until(() => snapshots().length > 0)
  // Rates cover only five seconds, which a slow machine may miss. So tasks are completed until a rate is shown.
  let completed = 0
  await until(async () => {
    const task = { description: 'Do it', target_agent: 'far' }
    const { task_id } = (await callDaemon(first.state, 'orch.submit_task', task)) as { task_id: number }
    await callDaemon(first.state, 'orch.complete_task', { task_id, attestation: { checks_passed: ['tests'] } })
    completed += 1
    return snapshots().some(({ rates }) => rates.completed > 0)
  })
  const seen = await until(() => snapshots().find(({ status }) => status?.total_completed === completed))
  t.ok(
    await until(() => snapshots().some(({ events }) => events.some(({ kind }) => kind.type === 'task_completed'))),
    'the snapshots contain the events'
  )
  t.match(seen, {
    origin: { kind: 'daemon', address: first.state.socket, pid: first.child.pid },
    lost: null,
    status: { agents: [{ name: 'far', completed, current_task: null }] }
  })
  await first.kill()
  t.match(await until(() => snapshots().find(({ lost }) => lost !== null)), {
    status: { total_completed: completed }
  })
  const second = await secondDaemon(t)
  const { copyFile, mkdir } = await import('node:fs/promises')
  await mkdir(`${first.root}/.vox`, { recursive: true })
  await copyFile(`${second.root}/.vox/daemon.json`, `${first.root}/.vox/daemon.json`)
  t.match(
    await until(() => snapshots().find(({ origin }) => origin.kind === 'daemon' && origin.pid === second.child.pid)),
    { events: [] }
  )
  await until(() => snapshots().at(-1)?.lost === null && snapshots().at(-1)?.status?.total_completed === 0)
  io.abort()
  await running
})

t.test('waits for a slow reader', async t => {
  const { orchestrator, tasks, kernel } = await openWorld(t)
  const stream = new PassThrough({ highWaterMark: 1 })
  const io = ioOf(stream, true)
  const running = topCommand({ projectRoot: kernel.root, orchestrator, tasks })({ interval: 100, count: 3 }, io)
  await once(stream, 'readable')
  t.ok(stream.readableLength < 2_000, 'only one line is buffered')
  stream.resume()
  t.equal(await running, 0)
})

const event = (type: string, timestamp_ms: number): AgentEvent =>
  ({ id: 1, timestamp_ms, kind: { type } }) as unknown as AgentEvent

t.test('counts an event once if the stream repeats it after a reconnection', async t => {
  const ended = new AbortController()
  const submitted = event('task_submitted', Date.now() + 60_000)
  let streams = 0
  const source: Source = {
    origin: { kind: 'in_process' },
    status: async () => ({}) as StatusReport,
    async follow(tell, signal) {
      tell(submitted)
      streams += 1
      if (streams > 1) await waitForAbort(signal)
    }
  }
  const watcher = new Watcher(source, async () => source)
  const running = watcher.run(ended.signal)
  await until(() => streams === 2)
  const { rates, events } = await watcher.look(ended.signal)
  t.same(events, [submitted])
  t.ok(rates.submitted <= 1, `${rates.submitted} a second`)
  ended.abort()
  await running
})

t.test('rates cover the last five seconds, or at least one second', t => {
  const rates = new RateCounter(10_000)
  for (let at = 0; at < 10; at++) rates.count(event('task_submitted', 10_000 + at))
  rates.count(event('task_completed', 9_000))
  rates.count(event('agent_idle', 10_100))
  t.same(rates.rates(10_100), { submitted: 10, completed: 0, failed: 0 })
  t.same(rates.rates(12_000), { submitted: 5, completed: 0, failed: 0 })
  t.same(rates.rates(14_999), { submitted: 2, completed: 0, failed: 0 })
  rates.count(event('task_failed', 15_000))
  t.same(rates.rates(20_000), { submitted: 0, completed: 0, failed: 0.2 })
  t.end()
})

t.test('fits any text exactly into its columns, without control characters', t => {
  const property = fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 0, max: 40 }), (text, columns) => {
    const fitted = fit(text, columns)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test asserts that there are none
    return stringWidth(fitted) === columns && !/[\u0000-\u001f\u007f-\u009f]/.test(fitted)
  })
  fc.assert(property)
  t.equal(fit('a\x1b[2Jb', 8), 'a [2Jb  ')
  t.equal(fit('漢字漢字', 5), '漢字…')
  t.equal(fit('漢字漢字', 4), '漢… ')
  t.end()
})

t.test('a view fits the terminal, with the busiest agents first', t => {
  const agents = Array.from({ length: 100 }, (_, at) => ({
    id: at + 1,
    name: `agent\x1b[31m${at}`,
    queued: at,
    completed: 0,
    paused: false,
    current_task: at === 3 ? 9 : null,
    activity: 'idle',
    owned_files: 0,
    weighted_load: at
  }))
  const status = {
    enabled: true,
    stopped: true,
    durability: { kind: 'database', location: '/x/store.db' },
    outbox: { pending: 3, oldest_ms: 5, failing: 'disk full' },
    agents
  } as unknown as NonNullable<Snapshot['status']>
  const snapshot: Snapshot = {
    at_ms: 0,
    origin: { kind: 'daemon', address: '127.0.0.1:9745', pid: 7 },
    lost: null,
    status,
    rates: { submitted: 1, completed: 2, failed: 3 },
    events: Array.from({ length: 10 }, (_, id) => event('agent_idle', id))
  }
  for (const rows of [1, 3, 10, 24, 60]) {
    const lines = frame(snapshot, { columns: 80, rows })
    t.ok(lines.length <= rows, String(rows))
    t.ok(lines.every(line => stringWidth(line) <= 80 && !line.includes('\x1b')))
  }
  const lines = frame(snapshot, { columns: 120, rows: 30 })
  t.match(lines[1], /^STOPPED, durable in \/x\/store.db, 3 changes wait: disk full/)
  t.match(lines[7], /^A-04 .*T-0009/)
  t.match(lines[8], /^A-100/)
  t.ok(lines.some(line => /^and \d+ more$/.test(line)))
  t.match(frame({ ...snapshot, lost: 'gone' }, { columns: 120, rows: 30 })[0], /LOST: gone/)
  t.end()
})

t.test('formats an event as one line, with its task and agent first', t => {
  t.equal(
    eventLine({ type: 'task_failed', task_id: 42, agent_id: 3, error: 'no\nluck' }),
    'task_failed  T-0042  A-03  no\nluck'
  )
  t.end()
})
