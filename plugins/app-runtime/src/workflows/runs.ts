import type { DatabaseStore, SqlValue } from '@svc/contracts'
import { type Infer, t } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import { prepareStore } from './scheduler.ts'

/** Opens the database of the program, with the tables of its runs. */
export type OpenRuns = () => Promise<DatabaseStore>

export function openRuns(store: () => Promise<DatabaseStore>): OpenRuns {
  const prepared = new WeakSet<DatabaseStore>()
  return async () => {
    const opened = await store()
    if (!prepared.has(opened)) await prepareStore(opened)
    prepared.add(opened)
    return opened
  }
}

export const runIdField = t.string({ minLength: 1, maxLength: 1000, description: 'Id of the run.' })

const time = t.nullable(t.string({ description: 'RFC 3339, in UTC.' }))

/** A run in answers of operations. */
export const runFields = t.object({
  run_id: t.string(),
  workflow: t.string(),
  program: t.string(),
  status: t.enum(['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled']),
  completed_steps: t.integer(),
  started_at: time,
  completed_at: time,
  wakes_at: time,
  waits_for: t.nullable(t.string({ description: 'The awaited signal.' })),
  error: t.nullable(t.string())
})

export type ShownRun = Infer<typeof runFields>

/** SQL of the columns that {@link shownRun} reads, followed by arguments and result. */
export const RUNS = `SELECT r.run_id, r.workflow_name, s.program, r.status, r.completed_steps, r.started_at_ms, r.completed_at_ms,
  s.wake_at_ms, s.waiting_for, r.last_error, s.args_json, s.result_json
  FROM workflow_run_log r JOIN workflow_run_state s ON s.run_id = r.run_id`

/** Returns the row of a run. Throws `RUN_WORKFLOW_UNKNOWN`. */
export async function findRun(
  store: Pick<DatabaseStore, 'query'> & { readonly location?: string },
  runId: string
): Promise<readonly SqlValue[]> {
  const { rows } = await store.query(`${RUNS} WHERE r.run_id = ?`, [runId])
  const [row] = rows
  if (row !== undefined) return row
  throw unknownRun(runId, store.location)
}

export function unknownRun(runId: string, location = 'the database'): Error {
  return runErrors.create('RUN_WORKFLOW_UNKNOWN', `${location} has no run ${runId}`, {
    hint: 'svc workflow list shows the runs'
  })
}

export function shownRun([
  runId,
  workflow,
  program,
  status,
  steps,
  started,
  completed,
  wakes,
  waits,
  error
]: readonly SqlValue[]): ShownRun {
  return {
    run_id: String(runId),
    workflow: String(workflow),
    program: String(program),
    status: String(status) as ShownRun['status'],
    completed_steps: Number(steps),
    started_at: timeText(started),
    completed_at: timeText(completed),
    wakes_at: timeText(wakes),
    waits_for: typeof waits === 'string' ? waits : null,
    error: typeof error === 'string' ? error : null
  }
}

/** Returns Unix milliseconds as RFC 3339; null for any other value. */
export function timeText(milliseconds: SqlValue | undefined): string | null {
  return typeof milliseconds === 'number' ? new Date(milliseconds).toISOString() : null
}
