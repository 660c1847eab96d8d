import type { DatabaseStore, SqlValue } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import { countExpendable, pruneRuns, type Retention } from './prune.ts'
import { prepareStore } from './scheduler.ts'
import { ENDED } from './workflow-store.ts'

const { RUN_WORKFLOW_UNKNOWN, RUN_WORKFLOW_FAILED } = runErrors.specs

const id = t.string({ minLength: 1, maxLength: 1000, description: 'Id of the run.' })
const time = t.nullable(t.string({ description: 'RFC 3339, in UTC.' }))
const run = t.object({
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

export const workflowList = defineOperation({
  id: 'workflow.list',
  summary: 'List workflow runs, newest first',
  input: t.object({
    workflow: t.optional(t.string({ description: 'Only runs of this workflow.' })),
    status: t.optional(t.string({ description: 'Only runs in this status.' })),
    limit: t.integer({ default: 50, minimum: 1, maximum: 1000 })
  }),
  output: t.object({ runs: t.array(run) }),
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/workflows' },
    mcp: { name: 'svc_workflow_list' },
    rpc: true,
    cli: {
      command: 'workflow list',
      view: { rows: 'runs', columns: ['run_id', 'workflow', 'status', 'completed_steps', 'started_at', 'error'] }
    }
  }
})

export const workflowInspect = defineOperation({
  id: 'workflow.inspect',
  summary: 'Show a workflow run and its journal',
  input: t.object({ run_id: id }),
  output: t.object({
    run,
    args: t.unknown({ description: 'Arguments in the storage format of the runtime.' }),
    result: t.unknown({
      description: 'Result in the storage format of the runtime; null until the run has completed.'
    }),
    journal: t.array(t.unknown(), { description: 'contracts/workflow/workflow-journal.v1.schema.json' }),
    text: t.string()
  }),
  errors: { RUN_WORKFLOW_UNKNOWN },
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/workflows/:run_id' },
    mcp: { name: 'svc_workflow_inspect' },
    rpc: true,
    cli: { command: 'workflow inspect', args: ['run_id'], view: { text: 'text' } }
  }
})

export const workflowSignal = defineOperation({
  id: 'workflow.signal',
  summary: 'Send a signal to a workflow run',
  input: t.object({
    run_id: id,
    key: t.string({
      minLength: 1,
      maxLength: 1000,
      description: 'Key of the signal, as passed to workflow_wait_signal.'
    }),
    payload: t.optional(t.unknown({ description: 'Return value of workflow_wait_signal, as JSON.' }))
  }),
  output: t.object({ run_id: t.string(), status: t.string(), text: t.string() }),
  errors: { RUN_WORKFLOW_UNKNOWN, RUN_WORKFLOW_FAILED },
  effect: 'write',
  expose: {
    http: { method: 'POST', path: '/api/workflows/:run_id/signals' },
    mcp: { name: 'svc_workflow_signal' },
    rpc: true,
    cli: { command: 'workflow signal', args: ['run_id', 'key'], view: { text: 'text' } }
  }
})

export const workflowCancel = defineOperation({
  id: 'workflow.cancel',
  summary: 'Cancel a workflow run; no further step starts',
  input: t.object({ run_id: id }),
  output: t.object({ run_id: t.string(), status: t.string(), text: t.string() }),
  errors: { RUN_WORKFLOW_UNKNOWN },
  effect: 'destructive',
  expose: {
    http: { method: 'POST', path: '/api/workflows/:run_id/cancel' },
    mcp: { name: 'svc_workflow_cancel' },
    rpc: true,
    cli: { command: 'workflow cancel', args: ['run_id'], view: { text: 'text' } }
  }
})

export const workflowPrune = defineOperation({
  id: 'workflow.prune',
  summary: 'Delete finished workflow runs and journals, except the newest',
  input: t.object({
    keep_runs: t.optional(
      t.integer({ minimum: 0, description: 'Runs to keep for each program; default: the setting workflow_keep_runs.' })
    ),
    keep_days: t.optional(
      t.integer({
        minimum: 0,
        description: 'Days to keep runs after their end; default: the setting workflow_keep_days.'
      })
    ),
    program: t.optional(t.string({ description: 'Only runs of this program, named as in workflow list.' })),
    dry_run: t.boolean({ default: false, description: 'Only count the runs.' })
  }),
  output: t.object({
    runs: t.integer({ description: 'Number of deleted runs, or of runs to delete.' }),
    text: t.string()
  }),
  effect: 'destructive',
  expose: {
    http: { method: 'POST', path: '/api/workflows/prune' },
    mcp: { name: 'svc_workflow_prune' },
    rpc: true,
    cli: { command: 'workflow prune', view: { text: 'text' } }
  }
})

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

const RUNS = `SELECT r.run_id, r.workflow_name, s.program, r.status, r.completed_steps, r.started_at_ms, r.completed_at_ms,
  s.wake_at_ms, s.waiting_for, r.last_error, s.args_json, s.result_json
  FROM workflow_run_log r JOIN workflow_run_state s ON s.run_id = r.run_id`

export function listHandler(open: OpenRuns): Handler<typeof workflowList> {
  return async ({ workflow = null, status = null, limit }) => {
    const store = await open()
    const { rows } = await store.query(
      `${RUNS} WHERE (:workflow IS NULL OR r.workflow_name = :workflow) AND (:status IS NULL OR r.status = :status)
        ORDER BY r.started_at_ms DESC, r.run_id LIMIT :limit`,
      { workflow, status, limit }
    )
    return { runs: rows.map(shown) }
  }
}

export function inspectHandler(open: OpenRuns): Handler<typeof workflowInspect> {
  return async ({ run_id }) => {
    const store = await open()
    const row = await found(store, run_id)
    const journal = await store.query(
      'SELECT entry_json, recorded_at_ms FROM workflow_journal WHERE run_id = ? ORDER BY id',
      [run_id]
    )
    const entries = journal.rows.map(([entry]) => JSON.parse(String(entry)) as Record<string, unknown>)
    const about = shown(row)
    const [args, result] = [row[10], row[11]]
    const lines = entries.map(({ event, activity_id, ...rest }, index) => {
      const { error, attempt } = rest
      const more = [activity_id, attempt === undefined ? '' : `attempt ${attempt}`, error].filter(each => each)
      return `  ${timeOf(journal.rows[index]?.[1])}  ${event} ${more.join(' ')}`.trimEnd()
    })
    const waits = about.waits_for ?? about.wakes_at
    const state = waits === null ? about.status : `${about.status} for ${waits}`
    const text = [
      `${run_id}: ${about.workflow} of ${about.program} is ${state}`,
      ...(about.error === null ? [] : [`  ${about.error}`]),
      ...(typeof result === 'string' ? [`  result ${result}`] : []),
      ...lines
    ].join('\n')
    return {
      run: about,
      args: JSON.parse(String(args)),
      result: typeof result === 'string' ? JSON.parse(result) : null,
      journal: entries,
      text
    }
  }
}

export function signalHandler(open: OpenRuns): Handler<typeof workflowSignal> {
  return async ({ run_id, key, payload }) => {
    const store = await open()
    const { status } = shown(await found(store, run_id))
    if (ENDED.includes(status)) {
      throw runErrors.create('RUN_WORKFLOW_FAILED', `the run ${run_id} accepts no signal: it is ${status}`)
    }
    await store.execute(
      'INSERT INTO workflow_signal_log (run_id, signal_key, payload_json, recorded_at_ms) VALUES (?, ?, ?, ?)',
      [run_id, key, payload === undefined ? null : losslessJson(payload), Date.now()]
    )
    return { run_id, status, text: `${run_id} was signalled: ${key}` }
  }
}

export function cancelHandler(open: OpenRuns): Handler<typeof workflowCancel> {
  return async ({ run_id }) => {
    const store = await open()
    await found(store, run_id)
    // The process that runs it notices at its next write.
    await store.execute(
      `UPDATE workflow_run_log SET status = 'cancelled', lease_owner = NULL, lease_until_ms = NULL, completed_at_ms = ?
        WHERE run_id = ? AND status NOT IN ('completed', 'failed', 'cancelled')`,
      [Date.now(), run_id]
    )
    const { status } = shown(await found(store, run_id))
    return { run_id, status, text: `${run_id} is ${status}` }
  }
}

export function pruneHandler(open: OpenRuns, keeping: () => Retention): Handler<typeof workflowPrune> {
  return async ({ keep_runs, keep_days, program = null, dry_run }) => {
    const store = await open()
    const toLossless = keeping()
    const bounds = { runs: keep_runs ?? toLossless.runs, days: keep_days ?? toLossless.days }
    const runs = await (dry_run ? countExpendable : pruneRuns)(store, program, bounds)
    const count = runs === 1 ? '1 ended run' : `${runs} ended runs`
    return { runs, text: `${dry_run ? 'would delete' : 'deleted'} ${count}` }
  }
}

type Row = readonly SqlValue[]

async function found(store: DatabaseStore, runId: string): Promise<Row> {
  const { rows } = await store.query(`${RUNS} WHERE r.run_id = ?`, [runId])
  const [row] = rows
  if (row !== undefined) return row
  throw runErrors.create('RUN_WORKFLOW_UNKNOWN', `${store.location} has no run ${runId}`, {
    hint: 'svc workflow list shows the runs'
  })
}

type Shown = Awaited<ReturnType<Handler<typeof workflowList>>>['runs'][number]

function shown([runId, workflow, program, status, steps, started, completed, wakes, waits, error]: Row): Shown {
  return {
    run_id: String(runId),
    workflow: String(workflow),
    program: String(program),
    status: String(status) as Shown['status'],
    completed_steps: Number(steps),
    started_at: timeOf(started),
    completed_at: timeOf(completed),
    wakes_at: timeOf(wakes),
    waits_for: typeof waits === 'string' ? waits : null,
    error: typeof error === 'string' ? error : null
  }
}

function timeOf(milliseconds: SqlValue | undefined): string | null {
  return typeof milliseconds === 'number' ? new Date(milliseconds).toISOString() : null
}

/** Converts JSON to the format of `losslessText`, as strs, lists and records of the language. */
function losslessJson(json: unknown): string {
  return JSON.stringify(toLossless(json))
}

function toLossless(json: unknown): unknown {
  if (typeof json === 'number' && !Number.isSafeInteger(json)) return { $float: json }
  if (Array.isArray(json)) return json.map(toLossless)
  if (typeof json !== 'object' || json === null) return json
  return { $record: Object.entries(json).map(([key, value]) => [key, toLossless(value)]) }
}
