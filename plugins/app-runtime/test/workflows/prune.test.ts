import { join } from 'node:path'
import type { DatabaseStore } from '@svc/contracts'
import { FileConnection, openFile } from '@svc/plugin-database/testing'
import t, { type Test } from 'tap'
import '../../../database/test/built-worker.ts'
import {
  countExpendable,
  databaseDurable,
  entry,
  openRuns,
  pruneHandler,
  pruneRuns,
  type WorkflowStore
} from '#workflows'

const DAY = 24 * 60 * 60 * 1000
const NOW = 100 * DAY
const ALL = { runs: 0, days: 0 }

interface World {
  readonly store: DatabaseStore
  /** Store of the program `p`. */
  readonly runs: WorkflowStore
  of(program: string): WorkflowStore
  /** Returns the distinct run ids in a table, in order. */
  ids(table: string): Promise<unknown[]>
}

async function open(t: Test): Promise<World> {
  const file = join(t.testdir(), 'runs.db')
  const store = await openFile(file, { busyTimeoutMs: 5000, synchronous: 'normal' })
  const connection = new FileConnection({ file, busyTimeoutMs: 5000, synchronous: 'normal' })
  t.teardown(async () => {
    connection.close()
    await store.close()
  })
  const of = (program: string): WorkflowStore => {
    return databaseDurable(connection, { program, metricSession: null }, () => undefined, null).workflows
  }
  return {
    store,
    runs: of('p'),
    of,
    ids: async table => {
      const { rows } = await store.query(`SELECT DISTINCT run_id FROM ${table} ORDER BY run_id`)
      return rows.map(([id]) => id)
    }
  }
}

/** Starts a run with one step. */
function begin(runs: WorkflowStore, runId: string, at: number, parent: string | null = null): void {
  runs.create({ runId, workflow: 'w', args: '[]', parent, plannedSteps: 1, isCalled: false }, at)
  runs.claim(runId, { owner: runId, now: at, until: NOW + DAY })
  const completed = { step: 'a', activity: 'act', event: 'LocalActivity', result: '1' }
  const attempt = { step: 'a', attempt: 1, status: 'started' as const, error: null }
  runs.record(
    runId,
    runId,
    [{ entries: [entry({ event: 'WorkflowStarted', workflow: 'w', steps: 1 })], completed, attempt }],
    at
  )
}

function complete(runs: WorkflowStore, runId: string, at: number): void {
  runs.record(runId, runId, [{ turn: { status: 'completed', result: '1' } }], at)
}

t.test('runs are deleted by number and by age, with all their rows', async t => {
  const { store, runs, ids } = await open(t)
  for (let day = 1; day <= 9; day++) {
    begin(runs, `r${day}`, day * DAY)
    complete(runs, `r${day}`, day * DAY)
  }
  await store.execute("INSERT INTO workflow_signal_log (run_id, signal_key, recorded_at_ms) VALUES ('r1', 'k', 0)")
  t.equal(await countExpendable(store, 'p', { runs: 4, days: 1000 }, 10 * DAY), 5)
  t.equal(await pruneRuns(store, 'p', { runs: 4, days: 1000 }, 10 * DAY), 5)
  for (const table of [
    'workflow_run_log',
    'workflow_run_state',
    'workflow_journal',
    'workflow_activity_log',
    'workflow_activity_attempt_log'
  ]) {
    t.same(await ids(table), ['r6', 'r7', 'r8', 'r9'], table)
  }
  t.same(await ids('workflow_signal_log'), [])
  t.equal(await pruneRuns(store, 'p', { runs: 100, days: 2 }, 10 * DAY), 2)
  t.same(await ids('workflow_run_log'), ['r8', 'r9'])
  t.equal(runs.find('r6'), null)
  t.ok(
    runs.create({ runId: 'r6', workflow: 'w', args: '[]', parent: null, plannedSteps: 1, isCalled: false }, NOW),
    'the id of a deleted run can be used again'
  )
})

t.test('active runs and their rows are kept', async t => {
  const { store, runs, ids } = await open(t)
  runs.create({ runId: 'pending', workflow: 'w', args: '[]', parent: null, plannedSteps: 1, isCalled: false }, 1)
  begin(runs, 'running', 1)
  begin(runs, 'waiting', 1)
  runs.record('waiting', 'waiting', [{ turn: { status: 'waiting', wakeAt: null, waitingFor: 'k' } }], 1)
  begin(runs, 'waiting/child', 1, 'waiting')
  complete(runs, 'waiting/child', 1)
  begin(runs, 'failed', 1)
  runs.record('failed', 'failed', [{ turn: { status: 'failed', error: 'RUN_PANIC: no' } }], 1)
  begin(runs, 'parent', 1)
  begin(runs, 'parent/child', 1, 'parent')
  complete(runs, 'parent/child', 1)
  complete(runs, 'parent', 1)
  begin(runs, 'left', 1)
  begin(runs, 'left/busy', 1, 'left')
  await store.execute("UPDATE workflow_run_log SET status = 'cancelled', completed_at_ms = 1 WHERE run_id = 'left'")
  t.equal(await pruneRuns(store, null, ALL, NOW), 2)
  const kept = ['left', 'left/busy', 'pending', 'running', 'waiting', 'waiting/child']
  t.same(await ids('workflow_run_log'), kept)
  t.same(await ids('workflow_run_state'), kept)
  t.match(runs.history('waiting').completed.get('a'), { result: '1' }, 'the history of an active run is complete')
  t.equal(await pruneRuns(store, null, ALL, NOW + 2 * DAY), 1, 'an expired lease has no effect')
})

t.test('programs are counted separately, and many runs are deleted in batches', async t => {
  const { store, runs, of, ids } = await open(t)
  const other = of('q')
  begin(other, 'q1', 1)
  complete(other, 'q1', 1)
  for (let n = 0; n < 1203; n++) {
    begin(runs, `r${n}`, n + 2)
    complete(runs, `r${n}`, n + 2)
  }
  t.equal(await pruneRuns(store, 'p', { runs: 1, days: 1000 }, NOW), 1202)
  t.same(await ids('workflow_run_log'), ['q1', 'r1202'])
  const prune = pruneHandler(
    openRuns(async () => store),
    () => ({ runs: 1, days: 100_000 }),
    () => undefined
  )
  const call = {} as Parameters<typeof prune>[1]
  t.match(await prune({ dry_run: false }, call), { runs: 0 })
  t.match(await prune({ dry_run: true, keep_runs: 0 }, call), { runs: 2, text: 'would delete 2 ended runs' })
  t.match(await prune({ dry_run: false, keep_days: 0, program: 'q' }, call), {
    runs: 1,
    text: 'deleted 1 ended run'
  })
  t.same(await ids('workflow_journal'), ['r1202'])
})
