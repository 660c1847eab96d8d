/**
 * Workflow runs per second of a served program: runs of one activity, while other runs wait for a signal. Each run has
 * three durable changes: its claim, which it shares with others, the begin of its step, and its end. Needs `npm run build`.
 *
 *   node --import tsx --conditions=svc-source bench/workflows.ts [--json] [--runs N] [--rounds N] [--waiting N,N,…]
 */
import type { ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import '../plugins/database/test/built-worker.ts'
import { coordinationSql as crd } from '@svc/contracts'
import { runQueue } from '../plugins/app-runtime/src/workflows/run-queue.ts'
import { DURABLE_TABLES } from '../plugins/app-runtime/src/workflows/tables.ts'
import { FileConnection } from '../plugins/database/src/testing.ts'
import { type Figure, figureOf, withRange } from './figures.ts'
import { isSmoke } from './smoke-mode.ts'
import { callProgram, serveWorkflows } from './workflow-host.ts'

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    runs: { type: 'string', default: isSmoke ? '50' : '3000' },
    rounds: { type: 'string', default: isSmoke ? '1' : '3' },
    waiting: { type: 'string', default: isSmoke ? '0,100' : '0,10000,100000' }
  }
})

const SOURCE = `
activity step(n: int) to Result[int] { Ok(n + 1) }
workflow one(n: int) to Result[int] { step(n) }
workflow waits() to Result[str] { workflow_wait_signal("go") }

@mutation
fn start(round: int, count: int) to int {
    for n in range(count) { one(n) with { detach: true } }
    count
}
`

/** Runs per second by the number of waiting runs. */
export interface WorkflowResult {
  readonly waiting: number
  readonly runsPerSecond: Figure
}

async function measure(waiting: number, runs: number, rounds: number): Promise<WorkflowResult> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-workflows-'))
  writeFileSync(join(folder, 'svc.toml'), '')
  writeFileSync(join(folder, 'app.vox'), SOURCE)
  const file = join(folder, '.vox', 'store.db')
  mkdirSync(join(folder, '.vox'), { recursive: true })
  const connection = new FileConnection({ file, busyTimeoutMs: 30_000, synchronous: 'full' })
  let child: ChildProcess | null = null
  try {
    addWaiting(connection, waiting)
    const served = await serveWorkflows({ folder })
    child = served.child
    const rates: number[] = []
    // The first round is a warm-up.
    for (let round = 0; round <= rounds; round++) {
      const begun = Date.now()
      await callProgram(`${served.url}/api/mutation/start`, { round, count: runs })
      const ended = () =>
        connection.row(
          "SELECT count(*), max(completed_at_ms) - min(started_at_ms) FROM workflow_run_log WHERE status = 'completed' AND started_at_ms >= ?",
          [begun]
        ) ?? []
      while (Number(ended()[0]) < runs) await sleep(20)
      if (round > 0 || isSmoke) rates.push((runs * 1000) / Number(ended()[1]))
    }
    return { waiting, runsPerSecond: figureOf(rates) }
  } finally {
    child?.kill('SIGKILL')
    connection.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Stores runs that wait for a signal. */
function addWaiting(connection: FileConnection, count: number): void {
  connection.begin('write')
  for (const sql of DURABLE_TABLES) connection.execute(sql)
  const queue = runQueue('app.vox')
  for (let at = 0; at < count; at++) {
    const run = `waiting-${at}`
    connection.execute(
      `INSERT INTO workflow_run_log (run_id, workflow_name, status, started_at_ms, updated_at_ms) VALUES (?, 'waits', 'waiting', 1, 1)`,
      [run]
    )
    connection.execute(
      "INSERT INTO workflow_run_state (run_id, program, args_json, waiting_for) VALUES (?, 'app.vox', '[]', 'go')",
      [run]
    )
    crd.runInThread(connection, crd.putItems([{ queue, key: run, body: run }]))
  }
  connection.execute('UPDATE coord_items SET state = 3 WHERE queue = ?', [queue])
  connection.execute("INSERT INTO coord_meta (name, value) VALUES ('workflow items of app.vox', 'yes')")
  connection.commit()
}

const results: WorkflowResult[] = []
for (const waiting of values.waiting.split(',').map(Number))
  results.push(await measure(waiting, Number(values.runs), Number(values.rounds)))
if (values.json) process.stdout.write(`${JSON.stringify({ benchmark: 'workflows', node: process.version, results })}\n`)
else
  for (const { waiting, runsPerSecond } of results)
    process.stdout.write(`${waiting} waiting: ${withRange(runsPerSecond, '')} runs per second\n`)
