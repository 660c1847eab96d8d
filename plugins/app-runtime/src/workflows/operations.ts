import { coordinationSql as crd, type SqlValue, type WorkflowStatus } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import { MESH_SIGNAL } from './mesh-steps.ts'
import { countExpendable, pruneRuns, type Retention } from './prune.ts'
import { childQueue, runQueue } from './run-queue.ts'
import { findRun, runIdField as id, type OpenRuns, RUNS, runFields as run, shownRun, timeText } from './runs.ts'
import { apiJson } from './stored-json.ts'
import { WORKFLOWS_TOPIC } from './topic.ts'
import { ENDED } from './workflow-store.ts'

const { RUN_WORKFLOW_UNKNOWN, RUN_WORKFLOW_FAILED } = runErrors.specs

export const workflowList = defineOperation({
  id: 'workflow.list',
  summary: 'List workflow runs, newest first',
  input: t.object({
    workflow: t.optional(t.string({ description: 'Only runs of this workflow.' })),
    status: t.optional(t.string({ description: 'Only runs in this status.' })),
    program: t.optional(t.string({ description: 'Only runs of this program.' })),
    active: t.boolean({ default: false, description: 'Only runs that have not ended.' }),
    limit: t.integer({ default: 50, minimum: 1, maximum: 1000, description: 'Maximum number of runs.' })
  }),
  output: t.object({ runs: t.array(run) }),
  effect: 'read',
  watch: { on: [WORKFLOWS_TOPIC] },
  expose: {
    http: { method: 'GET', path: '/api/workflows' },
    mcp: {
      name: 'svc_workflow_list',
      toolsets: ['workflows'],
      use: 'Find a run, then read it with svc_workflow_inspect.'
    },
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
    journal: t.array(t.unknown(), { description: 'contracts/workflow/workflow-journal.v2.schema.json' }),
    text: t.string()
  }),
  errors: { RUN_WORKFLOW_UNKNOWN },
  effect: 'read',
  watch: { on: [WORKFLOWS_TOPIC] },
  expose: {
    http: { method: 'GET', path: '/api/workflows/:run_id' },
    mcp: {
      name: 'svc_workflow_inspect',
      toolsets: ['workflows'],
      use: 'Which step a run is in, and what each returned. Runs: svc_workflow_list.'
    },
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
    payload: t.optional(t.unknown({ description: 'Return value of workflow_wait_signal, as JSON; may be omitted.' }))
  }),
  output: t.object({ run_id: t.string(), status: t.string(), text: t.string() }),
  errors: { RUN_WORKFLOW_UNKNOWN, RUN_WORKFLOW_FAILED },
  effect: 'write',
  expose: {
    http: { method: 'POST', path: '/api/workflows/:run_id/signals' },
    mcp: {
      name: 'svc_workflow_signal',
      toolsets: ['workflows'],
      use: 'For a run that waits for this signal; svc_workflow_inspect shows its name.'
    },
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
    mcp: {
      name: 'svc_workflow_cancel',
      toolsets: ['workflows'],
      use: 'Completed steps stay. To run it again use svc_workflow_reset.'
    },
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
    mcp: {
      name: 'svc_workflow_prune',
      toolsets: ['workflows'],
      use: 'Frees space. Running and waiting workflows are kept.'
    },
    rpc: true,
    cli: { command: 'workflow prune', view: { text: 'text' } }
  }
})

export function listHandler(open: OpenRuns): Handler<typeof workflowList> {
  return async ({ workflow = null, status = null, program = null, active, limit }) => {
    const store = await open()
    const { rows } = await store.query(
      `${RUNS} WHERE (:workflow IS NULL OR r.workflow_name = :workflow) AND (:status IS NULL OR r.status = :status)
        AND (:program IS NULL OR s.program = :program)
        AND (NOT :active OR r.status NOT IN ('completed', 'failed', 'cancelled'))
        ORDER BY r.started_at_ms DESC, r.run_id LIMIT :limit`,
      { workflow, status, program, active, limit }
    )
    return { runs: rows.map(shownRun) }
  }
}

export function inspectHandler(open: OpenRuns): Handler<typeof workflowInspect> {
  return async ({ run_id }) => {
    const store = await open()
    const row = await findRun(store, run_id)
    const journal = await store.query(
      'SELECT entry_json, recorded_at_ms FROM workflow_journal WHERE run_id = ? ORDER BY id',
      [run_id]
    )
    return inspected(row, journal.rows)
  }
}

/** Describes a run, from its row as in {@link RUNS} and the rows of its journal: entry, time. */
export function inspected(row: readonly SqlValue[], journal: readonly (readonly SqlValue[])[]) {
  const run_id = String(row[0])
  const entries = journal.map(([entry]) => JSON.parse(String(entry)) as Record<string, unknown>)
  const about = shownRun(row)
  const [args, result] = [row[10], row[11]]
  const lines = entries.map(({ event, activity_id, ...rest }, index) => {
    const { error, attempt } = rest
    const more = [activity_id, attempt === undefined ? '' : `attempt ${attempt}`, error].filter(each => each)
    return `  ${timeText(journal[index]?.[1])}  ${event} ${more.join(' ')}`.trimEnd()
  })
  const waits = about.waits_for ?? about.wakes_at
  const state = waits === null ? about.status : `${about.status} for ${waits}`
  const text = [
    `${run_id}: ${about.workflow} of ${about.program} is ${state}`,
    ...(about.error === null ? [] : [`  ${about.error}`]),
    ...(typeof result === 'string' ? [`  result ${apiJson(result)}`] : []),
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

export function signalHandler(open: OpenRuns, changed: () => void): Handler<typeof workflowSignal> {
  return async ({ run_id, key, payload }) => {
    assertSendable(key)
    const store = await open()
    const row = await findRun(store, run_id)
    const { status, waits_for } = shownRun(row)
    assertOpen(run_id, status)
    const program = String(row[2])
    await store.batch([
      {
        sql: 'INSERT INTO workflow_signal_log (run_id, signal_key, payload_json, recorded_at_ms) VALUES (?, ?, ?, ?)',
        parameters: [run_id, key, payload === undefined ? null : losslessJson(payload), Date.now()]
      },
      // A running turn finds the signal itself, or is woken when it ends.
      ...(waits_for === null || waits_for === key ? crd.wakeItems(runQueue(program), [run_id]).statements : [])
    ])
    changed()
    return { run_id, status, text: `${run_id} was signalled: ${key}` }
  }
}

/** Throws `RUN_ARGUMENTS` for a signal that only the mesh sends. */
export function assertSendable(key: string): void {
  if (key.startsWith(MESH_SIGNAL))
    throw runErrors.create('RUN_ARGUMENTS', `the signal ${key} cannot be sent: ${MESH_SIGNAL} is for the mesh`)
}

/** Throws `RUN_WORKFLOW_FAILED` for a run that has ended. */
export function assertOpen(runId: string, status: WorkflowStatus): void {
  if (ENDED.includes(status))
    throw runErrors.create('RUN_WORKFLOW_FAILED', `the run ${runId} accepts no signal: it is ${status}`)
}

export function cancelHandler(open: OpenRuns, changed: () => void): Handler<typeof workflowCancel> {
  return async ({ run_id }) => {
    const store = await open()
    const program = String((await findRun(store, run_id))[2])
    // The process that runs it notices at its next write, because the item of the run is gone.
    await store.batch([
      {
        sql: `UPDATE workflow_run_log SET status = 'cancelled', lease_owner = NULL, lease_until_ms = NULL, completed_at_ms = ?
          WHERE run_id = ? AND status NOT IN ('completed', 'failed', 'cancelled')`,
        parameters: [Date.now(), run_id]
      },
      ...crd.removeKeyedItem(runQueue(program), run_id).statements,
      ...crd.removeKeyedItem(childQueue(program), run_id).statements
    ])
    changed()
    const { status } = shownRun(await findRun(store, run_id))
    return { run_id, status, text: `${run_id} is ${status}` }
  }
}

export function pruneHandler(
  open: OpenRuns,
  keeping: () => Retention,
  changed: () => void
): Handler<typeof workflowPrune> {
  return async ({ keep_runs, keep_days, program = null, dry_run }) => {
    const store = await open()
    const retention = keeping()
    const bounds = { runs: keep_runs ?? retention.runs, days: keep_days ?? retention.days }
    const runs = await (dry_run ? countExpendable : pruneRuns)(store, program, bounds)
    if (!dry_run && runs > 0) changed()
    return prunedRuns(runs, dry_run)
  }
}

/** Result of `workflow.prune`. */
export function prunedRuns(runs: number, isDryRun: boolean) {
  const count = runs === 1 ? '1 ended run' : `${runs} ended runs`
  return { runs, text: `${isDryRun ? 'would delete' : 'deleted'} ${count}` }
}

/** Converts JSON to the format of `losslessText`, as strs, lists and records of the language. */
export function losslessJson(json: unknown): string {
  return JSON.stringify(toLossless(json))
}

function toLossless(json: unknown): unknown {
  if (typeof json === 'number' && !Number.isSafeInteger(json)) return { $float: json }
  if (Array.isArray(json)) return json.map(toLossless)
  if (typeof json !== 'object' || json === null) return json
  return { $record: Object.entries(json).map(([key, value]) => [key, toLossless(value)]) }
}
