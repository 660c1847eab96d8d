import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'

interface Report {
  readonly completed: number
  /** Bytes of heap after each round. */
  readonly heaps: readonly number[]
  readonly left: Readonly<Record<string, number>>
  /** Numbers of tasks and events that are kept in memory. */
  readonly kept: number
  readonly events: number
}

/** Limits of kept tasks and events. */
const KEPT = 1_000
const EVENTS = 1_024
/** Heap bytes that a task may leave once the history is full; a leaked task takes about twenty times as much. */
const BYTES_PER_TASK = 64

async function soak(file: string, tasks: number, rounds: number): Promise<Report> {
  const child = fileURLToPath(new URL('./orchestrator-child.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      '--expose-gc',
      '--no-opt',
      '--no-maglev',
      '--no-flush-bytecode',
      `--import=${import.meta.resolve('tsx')}`,
      '--conditions=svc-source',
      child,
      file,
      String(tasks),
      String(rounds)
    ],
    { env: { ...process.env, NODE_OPTIONS: '' }, maxBuffer: 10_000_000 }
  )
  return JSON.parse(stdout.trim().split('\n').at(-1) as string) as Report
}

function check(t: Test, report: Report, tasks: number, rounds: number): void {
  const { completed, heaps, left, kept, events } = report
  t.equal(completed, tasks * rounds)
  t.same(left, { total_completed: completed, total_queued: 0, total_in_progress: 0, locked_files: 0, pending: 0 })
  t.ok(kept <= KEPT, `${kept} tasks are kept`)
  t.ok(events <= EVENTS, `${events} events are kept`)
  // The first rounds fill the history and compile the code.
  const [first = 0, ...later] = heaps.slice(1)
  const perTask = ((later.at(-1) ?? 0) - first) / (tasks * later.length)
  t.ok(perTask <= BYTES_PER_TASK, `${Math.round(perTask)} bytes a task: ${heaps}`)
}

t.test('twenty thousand tasks in memory leave only the limited history', async t => {
  check(t, await soak('', 4_000, 5), 4_000, 5)
})

t.test('thousands of tasks with a database leave only the limited history', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-soak-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  check(t, await soak(join(folder, 'store.db'), 1_200, 4), 1_200, 4)
})
