import { coordinationSql as crd, type DatabaseTransaction } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import { entry } from './journal.ts'
import { FAMILY } from './prune.ts'
import { childQueue, runQueue } from './run-queue.ts'
import { findRun, type OpenRuns, runIdField, shownRun } from './runs.ts'

const { RUN_WORKFLOW_FAILED, RUN_WORKFLOW_UNKNOWN } = runErrors.specs

export const workflowReset = defineOperation({
  id: 'workflow.reset',
  summary: 'Run a workflow again from one of its steps',
  input: t.object({
    run_id: runIdField,
    step: t.optional(
      t.string({
        minLength: 1,
        maxLength: 1000,
        description: 'Id of the first step to run again, with all later ones; default: the first step of the run.'
      })
    )
  }),
  output: t.object({
    run_id: t.string(),
    status: t.string(),
    dropped: t.integer({ description: 'Number of recorded steps that run again.' }),
    text: t.string()
  }),
  errors: { RUN_WORKFLOW_FAILED, RUN_WORKFLOW_UNKNOWN },
  effect: 'destructive',
  expose: {
    http: { method: 'POST', path: '/api/workflows/:run_id/reset' },
    mcp: {
      name: 'svc_workflow_reset',
      toolsets: ['workflows'],
      use: 'Later steps run again, with their effects. Check with svc_workflow_replay first.'
    },
    rpc: true,
    cli: { command: 'workflow reset', args: ['run_id', 'step'], view: { text: 'text' } }
  }
})

/**
 * Drops the recorded results of a step and of all later ones, and makes the run pending. Signals that those steps
 * consumed can be consumed again; child runs that they started are deleted. Refuses a run that is running now.
 */
export function resetHandler(open: OpenRuns, changed: () => void): Handler<typeof workflowReset> {
  return async ({ run_id, step }) => {
    const store = await open()
    const dropped = await store.transaction(async tx => {
      const run = shownRun(await findRun(tx, run_id))
      const { first, steps } = await stepsFrom(tx, run_id, step)
      const { rows: children } = await tx.query(CHILDREN, [run_id, first])
      const family = (await tx.query(FAMILY, [JSON.stringify(children.map(([id]) => id))])).rows.map(([id]) =>
        String(id)
      )
      await assertIdle(tx, [run_id, ...family])
      const ids = JSON.stringify(steps)
      for (const table of STEP_TABLES)
        await tx.execute(`DELETE FROM ${table} WHERE run_id = ? AND activity_id IN (SELECT value FROM json_each(?))`, [
          run_id,
          ids
        ])
      await tx.execute(
        'UPDATE workflow_signal_log SET consumed_at_ms = NULL WHERE run_id = ? AND consumed_at_ms >= ?',
        [run_id, first]
      )
      for (const child of family) await remove(tx, run.program, child)
      await tx.execute('INSERT INTO workflow_journal (run_id, entry_json, recorded_at_ms) VALUES (?, ?, ?)', [
        run_id,
        entry({ event: 'WorkflowReset', workflow: run.workflow, steps: steps.length }),
        Date.now()
      ])
      await tx.execute(PENDING, [Date.now(), run_id])
      await tx.execute(
        'UPDATE workflow_run_state SET result_json = NULL, wake_at_ms = NULL, waiting_for = NULL WHERE run_id = ?',
        [run_id]
      )
      await requeue(tx, run.program, run_id)
      return steps.length
    })
    changed()
    const { status } = shownRun(await findRun(store, run_id))
    return resetRun(run_id, status, dropped)
  }
}

/** Result of `workflow.reset`. */
export function resetRun(runId: string, status: string, dropped: number) {
  const steps = dropped === 1 ? '1 step' : `${dropped} steps`
  return { run_id: runId, status, dropped, text: `${runId} is ${status}; ${steps} will run again` }
}

/** Error of a step that the run has not begun. */
export function unknownStep(runId: string, step: string | undefined): Error {
  return runErrors.create('RUN_WORKFLOW_UNKNOWN', `the run ${runId} has no step ${step}`, {
    hint: `svc workflow timeline ${runId} shows the steps`
  })
}

/** Error of a reset while a turn of the run, or of a child run that it deletes, has a lease. */
export function runningNow(runId: string): Error {
  return runErrors.create('RUN_WORKFLOW_FAILED', `the run ${runId} is running, and cannot be reset`, {
    hint: `wait until it waits or ends, or cancel it: svc workflow cancel ${runId}`
  })
}

const STEP_TABLES = ['workflow_activity_log', 'workflow_activity_attempt_log', 'workflow_step_state'] as const

/** Child runs that began at a time or later. */
const CHILDREN = `SELECT s.run_id FROM workflow_run_state s JOIN workflow_run_log r ON r.run_id = s.run_id
  WHERE s.parent_run_id = ? AND r.started_at_ms >= ?`

const PENDING = `UPDATE workflow_run_log SET status = 'pending', last_error = NULL, lease_owner = NULL,
  lease_until_ms = NULL, completed_at_ms = NULL, updated_at_ms = ?1, completed_steps = (
    SELECT count(*) FROM workflow_activity_log a WHERE a.run_id = ?2 AND a.status = 'completed') WHERE run_id = ?2`

/** Steps of a run in the order in which they began, as its journal has them: id, time of the first entry. */
const BEGUN_STEPS = `SELECT json_extract(entry_json, '$.activity_id') AS step, min(recorded_at_ms)
  FROM workflow_journal WHERE run_id = ? AND step IS NOT NULL
    AND id > coalesce((SELECT journal_id FROM workflow_run_generation g WHERE g.run_id = workflow_journal.run_id), 0)
  GROUP BY step ORDER BY min(id)`

/** Returns a step and all later ones, and when the first of them began. Throws `RUN_WORKFLOW_UNKNOWN`. */
async function stepsFrom(
  tx: DatabaseTransaction,
  runId: string,
  step: string | undefined
): Promise<{ readonly first: number; readonly steps: readonly string[] }> {
  const { rows } = await tx.query(BEGUN_STEPS, [runId])
  const at = step === undefined ? 0 : rows.findIndex(([id]) => id === step)
  if (at < 0) throw unknownStep(runId, step)
  return { first: Number(rows[at]?.[1] ?? 0), steps: rows.slice(at).map(([id]) => String(id)) }
}

/** Throws `RUN_WORKFLOW_FAILED` if a turn of one of the runs has a lease. */
async function assertIdle(tx: DatabaseTransaction, runs: readonly string[]): Promise<void> {
  const { rows } = await tx.query(
    `SELECT run_id FROM workflow_run_log WHERE status = 'running' AND lease_until_ms > ?
      AND run_id IN (SELECT value FROM json_each(?))`,
    [Date.now(), JSON.stringify(runs)]
  )
  const [busy] = rows
  if (busy !== undefined) throw runningNow(String(busy[0]))
}

async function remove(tx: DatabaseTransaction, program: string, runId: string): Promise<void> {
  for (const table of [
    'workflow_journal',
    ...STEP_TABLES,
    'workflow_signal_log',
    'workflow_run_state',
    'workflow_run_log'
  ])
    await tx.execute(`DELETE FROM ${table} WHERE run_id = ?`, [runId])
  for (const { sql, parameters } of crd.removeKeyedItem(childQueue(program), runId).statements)
    await tx.execute(sql, parameters)
}

async function requeue(tx: DatabaseTransaction, program: string, runId: string): Promise<void> {
  const { rows } = await tx.query('SELECT parent_run_id FROM workflow_run_state WHERE run_id = ?', [runId])
  const queue = rows[0]?.[0] === null ? runQueue(program) : childQueue(program)
  const statements = [
    ...crd.removeKeyedItem(queue, runId).statements,
    ...crd.putItems([{ queue, key: runId, body: runId }]).statements
  ]
  for (const { sql, parameters } of statements) await tx.execute(sql, parameters)
}
