import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { CHILD_ARGUMENTS } from '../../../../test/child-arguments.ts'
import { freshFile, openStore, openTestPersistence, recordsIn, type TestPersistence } from './test-persistence.ts'

type Point = 'never' | 'before' | 'inside' | 'begun' | 'after' | 'acknowledged' | 'waiting'

interface Worker {
  readonly child: ChildProcessByStdio<null, Readable, null>
  readonly lines: string[]
  /** Resolves when the line was printed or the process has ended. */
  until(line: string): Promise<void>
  readonly ended: Promise<unknown>
}

function startWorker(file: string, point: Point, at: number, tasks: number): Worker {
  const script = join(import.meta.dirname, 'worker-child.ts')
  const args = [...CHILD_ARGUMENTS, script, file, point, String(at), String(tasks)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines: string[] = []
  const reader = createInterface(child.stdout)
  const ended = Promise.all([once(child, 'exit'), once(reader, 'close')])
  const waiting = new Map<string, () => void>()
  reader.on('line', line => {
    lines.push(line)
    waiting.get(line)?.()
  })
  const until = (line: string): Promise<void> =>
    lines.includes(line)
      ? Promise.resolve()
      : Promise.race([new Promise<void>(resolve => waiting.set(line, resolve)), ended.then(() => {})])
  t.teardown(() => child.kill('SIGKILL'))
  return { child, lines, until, ended }
}

/** Returns the last step of each task, from lines that begin with `sign`. */
function steps(lines: readonly string[], sign: '?' | '!'): Map<number, number> {
  const last = new Map<number, number>()
  for (const line of lines) {
    const [kind, id, step] = line.split(' ')
    if (kind === sign) last.set(Number(id), Number(step))
  }
  return last
}

/** Asserts that all acknowledged changes exist, that no other changes do, and that transactions are complete. */
function check(t: Test, { lines }: Worker, { state }: Pick<TestPersistence, 'state'>): void {
  const requested = steps(lines, '?')
  const lost: string[] = []
  for (const [id, step] of steps(lines, '!'))
    if ((state.tasks.get(id)?.step ?? 0) < step) lost.push(`${id} has lost step ${step}`)
  for (const { id, step } of state.tasks.values())
    if ((requested.get(id) ?? 0) < step) lost.push(`${id} has step ${step}, which was never requested`)
  t.same(lost, [])
  const sum = [...state.tasks.values()].reduce((sum, { step }) => sum + step, 0)
  t.equal(state.commands, sum, 'each command is counted once')
  const { tasks } = state
  t.same([...tasks.values()].filter(({ status }) => status === 'InProgress').length, 0)
  for (const { status, step, recoveries } of tasks.values())
    if (recoveries !== (status === 'Queued' && step === 2 ? 1 : 0)) t.fail(`recovered ${recoveries} times at ${step}`)
  t.equal(state.locks.size, 0)
}

/** Description of each point for the test name, and the number of the transaction. */
const POINTS = {
  before: ['before a transaction', 1],
  inside: ['inside a transaction', 5],
  begun: ['just after the start of a transaction', 5],
  after: ['after a commit, before callers are notified', 1],
  acknowledged: ['just after a caller was notified', 5]
} as const

for (const [point, [words, at]] of Object.entries(POINTS))
  t.test(`no acknowledged change is lost if the process is killed ${words}`, async t => {
    const file = freshFile()
    await (await openStore(file)).close()
    const worker = startWorker(file, point as Point, at, 80)
    const [[code, signal]] = (await worker.ended) as [[number, string]]
    t.same([code, signal], [null, 'SIGKILL'])
    const store = await openStore(file)
    const found = await openTestPersistence(store)
    check(t, worker, found)
    t.ok(
      found.persistence.ids.task() > Math.max(0, ...found.state.tasks.keys()),
      'new ids are higher than all existing ones'
    )
    await found.persistence.close()
    await store.close()
  })

t.test('kills at any moment lose no acknowledged change, and requeue each task in progress once', async t => {
  const file = freshFile()
  const store = await openStore(file)
  for (const count of [3, 40]) {
    const worker = startWorker(file, 'never', 0, 100_000)
    await worker.until('seat')
    while (worker.lines.length < count * 10) await sleep(1)
    worker.child.kill('SIGKILL')
    await worker.ended
    const found = await openTestPersistence(store)
    check(t, worker, found)
    t.equal((await recordsIn(store)).length, found.state.tasks.size + 1)
    // The next round starts with an empty state.
    await found.persistence.close()
    await store.batch(['DELETE FROM orchestrator_records'])
  }
})

t.test('two concurrent processes have separate seats, and never assign the same id', async t => {
  const file = freshFile()
  const store = await openStore(file)
  const waits = startWorker(file, 'waiting', 0, 8)
  await waits.until('seat')
  const workers = [startWorker(file, 'never', 0, 200), waits]
  await Promise.all(workers.map(worker => worker.until('done')))
  const ids = workers.map(({ lines }) => [...steps(lines, '!').keys()])
  t.same(
    ids.map(({ length }) => length),
    [200, 8]
  )
  t.equal(new Set(ids.flat()).size, 208)
  const seats = new Set((await recordsIn(store)).map(([seat]) => seat))
  t.equal(seats.size, 2)

  await t.test('a running process takes over the state of an ended one', async t => {
    const [first, second] = workers as [Worker, Worker]
    await first.ended
    const found = await openTestPersistence(store, { lookMs: 0 })
    t.equal(found.state.tasks.size, 200, 'the state of the closed process is restored')
    t.equal(await found.persistence.tick(), null, 'the seat of the running process is not claimed')
    second.child.kill('SIGKILL')
    await second.ended
    let recovery = await found.persistence.tick()
    while (recovery === null) recovery = await found.persistence.tick()
    t.match(recovery, { records: 8 + 8 + 1, unreadable: [] })
    t.equal(found.state.tasks.size, 208)
    const queued = [...found.state.tasks.values()].filter(({ status }) => status === 'Queued')
    t.same(
      queued.map(({ recoveries }) => recoveries),
      Array.from({ length: 8 }, () => 1)
    )
    t.equal(found.state.locks.size, 0)
    t.same((await store.query('SELECT count(*) FROM orchestrator_seats')).rows, [[1]])
    await found.persistence.close()
    const again = await openTestPersistence(store)
    t.equal(again.state.tasks.size, 208)
    await again.persistence.close()
  })
})
