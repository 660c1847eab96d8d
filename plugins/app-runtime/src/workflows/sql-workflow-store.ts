import type { SqlValue, ThreadConnection } from '@svc/contracts'
import { fail } from '../interpreter/failure.ts'
import type { JournalEntry } from './journal.ts'
import { hasEnded } from './owner.ts'
import { prepareTables, written } from './sql-transaction.ts'
import {
  type AttemptRecord,
  type ClaimedRun,
  ENDED,
  type Lease,
  type NewRun,
  type RunChange,
  type RunHistory,
  type RunRecord,
  type RunStatus,
  type SignalRecord,
  type StepRecord,
  type WorkflowStore
} from './workflow-store.ts'

export interface SqlStoreOptions {
  /** The program that owns the runs; others do not see them. */
  readonly program: string
  /** Session of the rows in research_metrics; null to write none. */
  readonly metricSession: string | null
  readonly plan?: PlanProvenance
}

/** The plan step that a run belongs to. */
export interface PlanProvenance {
  readonly session: string | null
  readonly node: string | null
  readonly version: number | null
}

/** SQL of a run, for {@link recordOf}. */
export const RUN = `SELECT r.run_id, r.workflow_name, r.status, s.args_json, s.result_json, r.last_error, s.wake_at_ms,
  s.waiting_for, s.parent_run_id, r.lease_owner, r.lease_until_ms
  FROM workflow_run_log r JOIN workflow_run_state s ON s.run_id = r.run_id WHERE r.run_id = ?`

/** Runs in a database. Each change is a separate transaction. */
export class SqlWorkflowStore implements WorkflowStore {
  readonly #connection: ThreadConnection
  readonly #options: SqlStoreOptions
  readonly #workflows = new Map<string, string>()
  #metrics: boolean | null = null

  constructor(connection: ThreadConnection, options: SqlStoreOptions) {
    this.#connection = connection
    this.#options = options
  }

  get inTransaction(): boolean {
    return this.#connection.inTransaction
  }

  create({ runId, workflow, args, parent, plannedSteps }: NewRun, now: number): boolean {
    prepareTables(this.#connection)
    const { session = null, node = null, version = null } = this.#options.plan ?? {}
    return written(this.#connection, () => {
      const { changes } = this.#connection.execute(
        `INSERT OR IGNORE INTO workflow_run_log (run_id, workflow_name, status, planned_steps, plan_session_id,
          plan_node_id, plan_version, started_at_ms, updated_at_ms) VALUES (?, ?, 'pending', ?, ?, ?, ?, ?, ?)`,
        [runId, workflow, plannedSteps, session, node, version, now, now]
      )
      if (changes === 0) return false
      this.#connection.execute(
        'INSERT INTO workflow_run_state (run_id, program, parent_run_id, args_json) VALUES (?, ?, ?, ?)',
        [runId, this.#options.program, parent, args]
      )
      return true
    })
  }

  find(runId: string): RunRecord | null {
    prepareTables(this.#connection)
    const row = this.#connection.row(RUN, [runId])
    return row === null ? null : recordOf(row)
  }

  claim(runId: string, { owner, now, until }: Lease, again = false): ClaimedRun | null {
    prepareTables(this.#connection)
    return written(this.#connection, () => {
      const row = this.#connection.row(RUN, [runId])
      if (row === null) return null
      const record = recordOf(row)
      if (ENDED.includes(record.status) && !(again && record.status === 'failed')) return null
      const [holder, leaseUntil] = [row[9], Number(row[10] ?? 0)]
      if (typeof holder === 'string' && leaseUntil > now && !hasEnded(holder)) return null
      this.#connection.execute(
        `UPDATE workflow_run_log SET status = 'running', lease_owner = ?, lease_until_ms = ?, updated_at_ms = ?,
          completed_at_ms = NULL, last_error = NULL WHERE run_id = ?`,
        [owner, until, now, runId]
      )
      this.#connection.execute('UPDATE workflow_run_state SET wake_at_ms = NULL, waiting_for = NULL WHERE run_id = ?', [
        runId
      ])
      this.#workflows.set(runId, record.workflow)
      const open = { status: 'running' as const, error: null, wakeAt: null, waitingFor: null }
      return { ...record, ...open, wasInterrupted: record.status === 'running' }
    })
  }

  history(runId: string): RunHistory {
    const completed = new Map<string, StepRecord>()
    const scheduled = new Map<string, number>()
    const steps = this.#connection.rows(STEPS, [runId])
    for (const [id, activity, status, text] of steps) {
      if (status === 'scheduled') scheduled.set(String(id), Number(text))
      if (status === 'completed') completed.set(String(id), stepOf(activity, text))
    }
    const attempts = new Map<string, AttemptRecord>()
    const rows = this.#connection.rows(ATTEMPTS, [runId])
    for (const [id, attempt, status] of rows) attempts.set(String(id), attemptOf(attempt, status))
    const hasBegun = this.#connection.row('SELECT 1 FROM workflow_journal WHERE run_id = ? LIMIT 1', [runId]) !== null
    return { hasBegun, completed, scheduled, attempts }
  }

  record(runId: string, owner: string, change: RunChange, now: number): void {
    const connection = this.#connection
    written(connection, () => {
      const steps = change.completed === undefined ? 0 : 1
      const { changes } = connection.execute(
        `UPDATE workflow_run_log SET updated_at_ms = ?, completed_steps = completed_steps + ?
          WHERE run_id = ? AND lease_owner = ? AND status = 'running'`,
        [now, steps, runId, owner]
      )
      if (changes === 0) fail('RUN_WORKFLOW_LOST', `the run ${runId} was cancelled, or another process runs it`)
      const workflow = this.#workflows.get(runId) ?? ''
      for (const each of change.entries ?? []) this.#journal(runId, workflow, each, now)
      const { completed, scheduled, attempt, signal, turn } = change
      if (completed !== undefined) {
        const { activityId, activity, event, result } = completed
        this.#step([runId, workflow, activity, activityId, 'completed', `${event} ${result}`, now])
      }
      if (scheduled !== undefined) {
        const { activityId, activity, at } = scheduled
        this.#step([runId, workflow, activity, activityId, 'scheduled', String(at), now])
      }
      if (attempt !== undefined) {
        connection.execute(
          `INSERT OR REPLACE INTO workflow_activity_attempt_log
            (run_id, workflow_name, activity_id, attempt_no, status, worker_owner, error, recorded_at_ms)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
          [runId, workflow, attempt.activityId, attempt.attempt, attempt.status, owner, attempt.error, now]
        )
      }
      if (signal !== undefined) {
        connection.execute('UPDATE workflow_signal_log SET consumed_at_ms = ? WHERE id = ?', [now, signal])
      }
      if (turn !== undefined) this.#end(runId, turn, now)
    })
  }

  signal(runId: string, key: string): SignalRecord | null {
    const row = this.#connection.row(
      `SELECT id, payload_json FROM workflow_signal_log WHERE run_id = ? AND signal_key = ? AND consumed_at_ms IS NULL
        ORDER BY id LIMIT 1`,
      [runId, key]
    )
    return row === null ? null : { id: Number(row[0]), payload: textOrNull(row[1]) }
  }

  due(now: number): readonly string[] {
    prepareTables(this.#connection)
    const rows = this.#connection.rows(DUE_RUNS, { program: this.#options.program, now })
    return rows.flatMap(([runId, holder, until]) => (isFree(holder, until, now) ? [String(runId)] : []))
  }

  nextWake(): number | null {
    const row = this.#connection.row(NEXT_WAKE, { program: this.#options.program })
    return row === null || row[0] === null ? null : Number(row[0])
  }

  #journal(runId: string, workflow: string, entry: JournalEntry, now: number): void {
    const text = JSON.stringify(entry)
    this.#connection.execute('INSERT INTO workflow_journal (run_id, entry_json, recorded_at_ms) VALUES (?, ?, ?)', [
      runId,
      text,
      now
    ])
    const { metricSession } = this.#options
    if (metricSession === null || !this.#hasMetrics()) return
    const activity = 'activity_id' in entry ? { activity_id: entry.activity_id } : {}
    this.#connection.execute(
      `INSERT INTO research_metrics (session_id, metric_type, metadata_json) VALUES (?, 'workflow_journal_entry', ?)`,
      [metricSession, JSON.stringify({ workflow, run_id: runId, ...activity, entry })]
    )
  }

  /** True if the database has the table research_metrics: only the primary one does. */
  #hasMetrics(): boolean {
    this.#metrics ??= this.#connection.row("SELECT 1 FROM sqlite_master WHERE name = 'research_metrics'") !== null
    return this.#metrics
  }

  #step(row: readonly SqlValue[]): void {
    this.#connection.execute(
      `INSERT OR REPLACE INTO workflow_activity_log
        (run_id, workflow_name, activity_name, activity_id, status, result_json, recorded_at_ms)
        VALUES (?, ?, ?, ?, ?, ?, ?)`,
      row
    )
  }

  #end(runId: string, turn: NonNullable<RunChange['turn']>, now: number): void {
    this.#workflows.delete(runId)
    const { status } = turn
    const endedAt = status === 'completed' || status === 'failed' ? now : null
    this.#connection.execute(
      `UPDATE workflow_run_log SET status = ?, lease_owner = NULL, lease_until_ms = NULL, completed_at_ms = ?, last_error = ?
        WHERE run_id = ?`,
      [status, endedAt, status === 'failed' ? turn.error : null, runId]
    )
    const [wakeAt, waitingFor] = status === 'waiting' ? [turn.wakeAt, turn.waitingFor] : [null, null]
    this.#connection.execute(
      'UPDATE workflow_run_state SET wake_at_ms = ?, waiting_for = ?, result_json = ? WHERE run_id = ?',
      [wakeAt, waitingFor, status === 'completed' ? turn.result : null, runId]
    )
  }
}

/** SQL of the steps of a run: id, activity, status, and what {@link stepOf} reads. */
export const STEPS =
  'SELECT activity_id, activity_name, status, result_json FROM workflow_activity_log WHERE run_id = ?'

/** SQL of the attempts of a run, the last of each step last. */
export const ATTEMPTS = `SELECT activity_id, attempt_no, status FROM workflow_activity_attempt_log WHERE run_id = ?
  ORDER BY attempt_no, status = 'failed'`

/** Reads a completed step. The event precedes the value: `LocalActivity {"$tag":…}`. */
export function stepOf(activity: SqlValue | undefined, text: SqlValue | undefined): StepRecord {
  const stored = String(text)
  const space = stored.indexOf(' ')
  return { activity: String(activity), event: stored.slice(0, space), result: stored.slice(space + 1) }
}

export function attemptOf(attempt: SqlValue | undefined, status: SqlValue | undefined): AttemptRecord {
  return { attempt: Number(attempt), status: status === 'failed' ? 'failed' : 'started' }
}

/** SQL of due runs. Parameters: `program`, `now`. A leased run is due only if {@link isFree}. */
export const DUE_RUNS = `SELECT r.run_id, r.lease_owner, r.lease_until_ms
  FROM workflow_run_state s JOIN workflow_run_log r ON r.run_id = s.run_id
  WHERE s.program = :program AND s.parent_run_id IS NULL AND (
    r.status IN ('pending', 'running') OR (r.status = 'waiting' AND (s.wake_at_ms <= :now OR EXISTS (
      SELECT 1 FROM workflow_signal_log g
        WHERE g.run_id = r.run_id AND g.signal_key = s.waiting_for AND g.consumed_at_ms IS NULL))))
  ORDER BY r.started_at_ms, r.run_id`

export const NEXT_WAKE = `SELECT min(s.wake_at_ms)
  FROM workflow_run_state s JOIN workflow_run_log r ON r.run_id = s.run_id
  WHERE s.program = :program AND s.parent_run_id IS NULL AND r.status = 'waiting'`

export function isFree(holder: SqlValue | undefined, until: SqlValue | undefined, now: number): boolean {
  return typeof holder !== 'string' || Number(until ?? 0) <= now || hasEnded(holder)
}

export function recordOf(row: readonly SqlValue[]): RunRecord {
  const [runId, workflow, status, args, result, error, wakeAt, waitingFor, parent] = row
  return {
    runId: String(runId),
    workflow: String(workflow),
    status: String(status) as RunStatus,
    args: String(args),
    result: textOrNull(result),
    error: textOrNull(error),
    wakeAt: wakeAt === null ? null : Number(wakeAt),
    waitingFor: textOrNull(waitingFor),
    parent: textOrNull(parent)
  }
}

function textOrNull(value: SqlValue | undefined): string | null {
  return typeof value === 'string' ? value : null
}
