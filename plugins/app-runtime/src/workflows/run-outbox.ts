import { randomUUID } from 'node:crypto'
import type {
  DatabaseStore,
  NewWorkflowRun,
  SharedWorkflowRuns,
  SqlValue,
  ThreadConnection,
  WorkflowRun
} from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { fail } from '../interpreter/failure.ts'
import { prepareTables } from './prepare-tables.ts'

/** Starts that are forwarded at a time. */
const MAX_AT_ONCE = 16

/** A run to start on the server of the runs, as stored in the transaction that started it. */
interface StoredStart {
  readonly id: number
  readonly run: NewWorkflowRun
  readonly storedAt: number
}

/**
 * Stores the start of a run in the open transaction of the program's database. It is forwarded to the server once the
 * transaction is committed. Throws `RUN_WORKFLOW_CHANGED` if a start of another workflow with this id is stored.
 */
export function storeStart(connection: ThreadConnection, run: NewWorkflowRun, now: number): void {
  prepareTables(connection)
  const { program, runId, workflow } = run
  const [stored] = connection.rows(START_OF_RUN, [program, runId]).map(startOf)
  if (stored === undefined) {
    const text = JSON.stringify({ ...run, startKey: randomUUID() } satisfies NewWorkflowRun)
    connection.execute(ADD_START, [program, runId, text, now])
  } else if (stored.run.workflow !== workflow) failChanged(stored.run, workflow)
}

/** Forwards the stored start of one run; false if there is none. `create` starts a run unless it was started. */
export function forwardStart(
  connection: ThreadConnection,
  { program, runId }: Pick<NewWorkflowRun, 'program' | 'runId'>,
  create: (run: NewWorkflowRun, now: number) => boolean
): boolean {
  prepareTables(connection)
  const [start] = connection.rows(START_OF_RUN, [program, runId]).map(startOf)
  if (start === undefined) return false
  create(start.run, start.storedAt)
  connection.execute(REMOVE_STARTS, [JSON.stringify([start.id])])
  return true
}

interface Forwarding {
  readonly store: DatabaseStore
  readonly shared: Pick<SharedWorkflowRuns, 'create' | 'find'>
  readonly program: string
  readonly log: Logger
}

/**
 * Forwards the stored starts of a program, the oldest first. A process that ends meanwhile repeats them, which has no
 * effect: the server knows the key of each. Throws the errors of the store and of the server; starts that were not
 * forwarded stay.
 */
export async function forwardStarts({ store, shared, program, log }: Forwarding): Promise<void> {
  for (;;) {
    const { rows } = await store.query(FIRST_STARTS, [program])
    if (rows.length === 0) return
    const starts = rows.map(startOf)
    const ends = await Promise.allSettled(
      starts.map(async ({ run, storedAt }) => {
        if (await shared.create(run, storedAt)) return
        const found = await shared.find(run.runId)
        if (found !== null && found.workflow !== run.workflow) logRefused(log, run, found)
      })
    )
    const forwarded = starts.filter((_, at) => ends[at]?.status === 'fulfilled').map(({ id }) => id)
    if (forwarded.length > 0) await store.execute(REMOVE_STARTS, [JSON.stringify(forwarded)])
    const failed = ends.find(end => end.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    if (rows.length < MAX_AT_ONCE) return
  }
}

/** Returns the number of stored starts of a program. */
export async function countStarts(store: DatabaseStore, program: string): Promise<number> {
  const { rows } = await store.query('SELECT count(*) FROM workflow_start_outbox WHERE program = ?', [program])
  return Number(rows[0]?.[0])
}

function logRefused(log: Logger, { runId, workflow }: NewWorkflowRun, found: WorkflowRun): void {
  log.error(`the run ${runId} of ${workflow} was not started: the id belongs to a run of ${found.workflow}`, {
    hint: 'name the runs of each workflow differently; the transaction that started this run is committed'
  })
}

function failChanged({ runId, workflow }: NewWorkflowRun, other: string): never {
  return fail('RUN_WORKFLOW_CHANGED', `the run ${runId} belongs to the workflow ${workflow}, not to ${other}`)
}

function startOf([id, text, storedAt]: readonly SqlValue[]): StoredStart {
  return { id: Number(id), run: JSON.parse(String(text)) as NewWorkflowRun, storedAt: Number(storedAt) }
}

const START_OF_RUN = 'SELECT id, run_json, stored_at_ms FROM workflow_start_outbox WHERE program = ? AND run_id = ?'
const FIRST_STARTS = `SELECT id, run_json, stored_at_ms FROM workflow_start_outbox WHERE program = ?
  ORDER BY id LIMIT ${MAX_AT_ONCE}`
const ADD_START = 'INSERT INTO workflow_start_outbox (program, run_id, run_json, stored_at_ms) VALUES (?, ?, ?, ?)'
const REMOVE_STARTS = 'DELETE FROM workflow_start_outbox WHERE id IN (SELECT value FROM json_each(?))'
