import {
  coordinationSql as crd,
  type ItemToken,
  inWriteTransaction,
  type SqlValue,
  type ThreadConnection,
  type WorkflowChange,
  type WorkflowStatus
} from '@svc/contracts'
import { fail } from '../interpreter/failure.ts'
import { LEASE_MS } from './claimed-queue.ts'
import { hasEnded } from './owner.ts'
import { prepareTables } from './prepare-tables.ts'
import { childQueue, meshQueue, readInThread, runQueue } from './run-queue.ts'
import {
  type AttemptRecord,
  type ClaimedRun,
  ENDED,
  type Lease,
  type NewRun,
  type RunHistory,
  type RunRecord,
  type ScheduledClaim,
  type SignalRecord,
  type StepRecord,
  type WorkflowStore
} from './workflow-store.ts'

export interface SqlStoreOptions {
  /** The program that owns the runs; others do not see them. */
  readonly program: string
  /** Session of the rows in research_metrics; null to write none. */
  readonly metricSession: string | null
  /** True if a scheduler copies the journal to research_metrics. */
  readonly copiesMetrics?: boolean
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
  s.waiting_for, s.parent_run_id
  FROM workflow_run_log r JOIN workflow_run_state s ON s.run_id = r.run_id WHERE r.run_id = ?`

const ADD_TO_JOURNAL = `INSERT INTO workflow_journal (run_id, entry_json, recorded_at_ms)
  SELECT ?1, value, ?3 FROM json_each(?2) ORDER BY key`

/** SQL of the metadata of a journal row in research_metrics. Needs the columns run, workflow and entry. */
export const METRIC_OF_ENTRY = `CASE WHEN json_extract(entry, '$.activity_id') IS NULL
  THEN json_object('workflow', workflow, 'run_id', run, 'entry', json(entry))
  ELSE json_object('workflow', workflow, 'run_id', run, 'activity_id', json_extract(entry, '$.activity_id'),
    'entry', json(entry)) END`

const ADD_METRICS = `INSERT INTO research_metrics (session_id, metric_type, metadata_json)
  SELECT :session, 'workflow_journal_entry', ${METRIC_OF_ENTRY} FROM (
    SELECT :run AS run, (SELECT workflow_name FROM workflow_run_log WHERE run_id = :run) AS workflow, value AS entry, key
    FROM json_each(:texts)) ORDER BY key`

/** Adds journal entries to research_metrics of a database, if it has the table. */
export function addMetrics(
  connection: ThreadConnection,
  {
    entries,
    ...of
  }: {
    readonly run: string
    readonly workflow: string
    readonly session: string
    readonly entries: readonly string[]
  }
): void {
  if (connection.row(METRICS_TABLE) === null) return
  connection.execute(ADD_METRICS_OF, { ...of, texts: JSON.stringify(entries) })
}

const METRICS_TABLE = "SELECT 1 FROM sqlite_master WHERE name = 'research_metrics'"

const ADD_METRICS_OF = `INSERT INTO research_metrics (session_id, metric_type, metadata_json)
  SELECT :session, 'workflow_journal_entry', ${METRIC_OF_ENTRY} FROM (
    SELECT :run AS run, :workflow AS workflow, value AS entry, key FROM json_each(:texts)) ORDER BY key`

const CHANGE = 'UPDATE workflow_run_log SET updated_at_ms = ?, completed_steps = completed_steps + ? WHERE run_id = ?'
const FIRST_CHANGE = `UPDATE workflow_run_log SET updated_at_ms = ?, completed_steps = completed_steps + ?,
  status = 'running', lease_owner = ?, lease_until_ms = ?, last_error = NULL WHERE run_id = ?`
const CLEAR_WAITS = 'UPDATE workflow_run_state SET wake_at_ms = NULL, waiting_for = NULL WHERE run_id = ?'

/** Delay before the scheduler takes a run that its caller wants to run at once, in milliseconds. */
const CALLED_DELAY_MS = 1_000

/** A claimed run. */
interface Claim {
  readonly workflow: string
  readonly token: ItemToken
  /**
   * `marked`: the run is marked as running. The first change of a turn that a scheduler has claimed does that, and ends the
   * wait of a run that has waited.
   */
  state: 'marked' | 'new' | 'waited'
}

/** Name under which the database remembers the last journal entry of a program that is in research_metrics. */
export function copiedMark(program: string): string {
  return `workflow metrics of ${program}`
}

/** Runs in a database. Each change is a separate transaction, which the fence of the run's item guards. */
export class SqlWorkflowStore implements WorkflowStore {
  readonly #connection: ThreadConnection
  readonly #options: SqlStoreOptions
  readonly #claims = new Map<string, Claim>()
  #metrics: boolean | null = null

  constructor(connection: ThreadConnection, options: SqlStoreOptions) {
    this.#connection = connection
    this.#options = options
  }

  get inTransaction(): boolean {
    return this.#connection.inTransaction
  }

  create({ runId, workflow, args, parent, plannedSteps, isCalled }: NewRun, now: number): boolean {
    prepareTables(this.#connection)
    const { session = null, node = null, version = null } = this.#options.plan ?? {}
    return inWriteTransaction(this.#connection, () => {
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
      this.#put(runId, parent, isCalled ? CALLED_DELAY_MS : 0)
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
    return inWriteTransaction(this.#connection, () => {
      const row = this.#connection.row(RUN, [runId])
      if (row === null) return null
      const record = recordOf(row)
      if (ENDED.includes(record.status) && !(again && record.status === 'failed')) return null
      const token = this.#lease(record, owner, until - now)
      if (token === null) return null
      this.#connection.execute(
        `UPDATE workflow_run_log SET status = 'running', lease_owner = ?, lease_until_ms = ?, updated_at_ms = ?,
          completed_at_ms = NULL, last_error = NULL WHERE run_id = ?`,
        [owner, until, now, runId]
      )
      this.#connection.execute(CLEAR_WAITS, [runId])
      return this.#claimed(record, token, record.status === 'running', 'marked')
    })
  }

  adopt({ run, token, wasInterrupted }: ScheduledClaim): ClaimedRun | null {
    prepareTables(this.#connection)
    const row = this.#connection.row(RUN, [run])
    if (row === null || !crd.holdsItem(this.#connection, token)) return null
    const record = recordOf(row)
    const hasWaited = record.wakeAt !== null || record.waitingFor !== null
    return this.#claimed(record, token, wasInterrupted, hasWaited ? 'waited' : 'new')
  }

  history(runId: string): RunHistory {
    const completed = new Map<string, StepRecord>()
    const scheduled = new Map<string, number>()
    const attempts = new Map<string, AttemptRecord>()
    const args = new Map<string, readonly string[]>()
    const begun = this.#connection.row(BEGUN, [runId])
    const history = { generation: Number(begun?.[0]), hasBegun: begun?.[1] === 1, completed, scheduled, attempts, args }
    if (!history.hasBegun) return history
    for (const [id, activity, status, text] of this.#connection.rows(STEPS, [runId])) {
      if (status === 'scheduled') scheduled.set(String(id), Number(text))
      if (status === 'completed') completed.set(String(id), stepOf(activity, text))
    }
    const rows = this.#connection.rows(ATTEMPTS, [runId])
    for (const [id, attempt, status] of rows) attempts.set(String(id), attemptOf(attempt, status))
    for (const [id, hashes] of this.#connection.rows(ARGS, [runId])) args.set(String(id), hashesOf(hashes))
    return history
  }

  record(runId: string, owner: string, changes: readonly WorkflowChange[], now: number): void {
    const connection = this.#connection
    const claim = this.#claims.get(runId)
    const record = (): void => {
      if (claim === undefined || !crd.holdsItem(connection, claim.token)) {
        this.#claims.delete(runId)
        fail('RUN_WORKFLOW_LOST', `the run ${runId} was cancelled, or another process runs it`)
      }
      const steps = changes.filter(({ completed }) => completed !== undefined).length
      if (claim.state === 'marked') connection.execute(CHANGE, [now, steps, runId])
      else connection.execute(FIRST_CHANGE, [now, steps, owner, now + LEASE_MS, runId])
      if (claim.state === 'waited') connection.execute(CLEAR_WAITS, [runId])
      // The entries come first: a run that continues as new keeps them, but not its steps.
      this.#journal(
        runId,
        changes.flatMap(({ entries = [] }) => entries),
        now
      )
      for (const change of changes) this.#store(runId, claim, owner, change, now)
    }
    inWriteTransaction(connection, record, !changes.every(isOnlyBegun))
    if (claim !== undefined) claim.state = 'marked'
    if (changes.some(({ turn }) => turn !== undefined)) this.#claims.delete(runId)
  }

  #store(runId: string, claim: Claim, owner: string, change: WorkflowChange, now: number): void {
    const { workflow } = claim
    const { completed, scheduled, attempt, signal, meshStep, turn } = change
    if (completed !== undefined) {
      const { step, activity, event, result } = completed
      this.#step([runId, workflow, activity, step, 'completed', `${event} ${result}`, now])
    }
    if (scheduled !== undefined) {
      const { step, activity, at } = scheduled
      this.#step([runId, workflow, activity, step, 'scheduled', String(at), now])
    }
    if (attempt !== undefined) this.#attempt(runId, workflow, owner, attempt, now)
    if (signal !== undefined) {
      this.#connection.execute('UPDATE workflow_signal_log SET consumed_at_ms = ? WHERE id = ?', [now, signal])
    }
    if (meshStep !== undefined) {
      const queue = meshQueue(this.#options.program)
      crd.runInThread(this.#connection, crd.putItems([{ queue, ...meshStep }]))
    }
    if (turn?.status === 'continued') this.#continue(runId, claim, turn.args, now)
    else if (turn !== undefined) this.#end(runId, claim, turn, now)
  }

  #attempt(
    runId: string,
    workflow: string,
    owner: string,
    { step, attempt, status, error, args }: NonNullable<WorkflowChange['attempt']>,
    now: number
  ): void {
    this.#connection.execute(
      `INSERT OR REPLACE INTO workflow_activity_attempt_log
        (run_id, workflow_name, activity_id, attempt_no, status, worker_owner, error, recorded_at_ms)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      [runId, workflow, step, attempt, status, owner, error, now]
    )
    if (args === undefined) return
    this.#connection.execute(
      'INSERT OR IGNORE INTO workflow_step_state (run_id, activity_id, args_hashes) VALUES (?, ?, ?)',
      [runId, step, JSON.stringify(args)]
    )
  }

  /** Adds the item of a run. That of a child run is not claimed by the scheduler. */
  #put(runId: string, parent: string | null, delayMs: number): void {
    const { program } = this.#options
    const queue = parent === null ? runQueue(program) : childQueue(program)
    crd.runInThread(this.#connection, crd.putItems([{ queue, key: runId, body: runId, delayMs }]))
  }

  /** Leases the item of a run; null if another owner has it. */
  #lease({ runId, parent }: RunRecord, owner: string, leaseMs: number): ItemToken | null {
    const queue = parent === null ? runQueue(this.#options.program) : childQueue(this.#options.program)
    const find = () => readInThread(this.#connection, crd.findKeyedItem(queue, runId))
    let item = find()
    if (item === null) {
      // The run has failed before, or is of a version that had no items.
      crd.runInThread(this.#connection, crd.removeKeyedItem(queue, runId))
      this.#put(runId, parent, CALLED_DELAY_MS)
      item = find()
    }
    if (item === null || (item.isLeased && item.holder !== null && !hasEnded(item.holder))) return null
    return crd.runInThread(this.#connection, crd.leaseItem(item.id, owner, Math.max(1, Math.ceil(leaseMs))))
  }

  #claimed(record: RunRecord, token: ItemToken, wasInterrupted: boolean, state: Claim['state']): ClaimedRun {
    this.#claims.set(record.runId, { workflow: record.workflow, token, state })
    return { ...record, status: 'running', error: null, wakeAt: null, waitingFor: null, wasInterrupted }
  }

  signal(runId: string, key: string): SignalRecord | null {
    const row = this.#connection.row(
      `SELECT id, payload_json FROM workflow_signal_log WHERE run_id = ? AND signal_key = ? AND consumed_at_ms IS NULL
        ORDER BY id LIMIT 1`,
      [runId, key]
    )
    return row === null ? null : { id: Number(row[0]), payload: textOrNull(row[1]) }
  }

  #journal(runId: string, entries: readonly string[], now: number): void {
    if (entries.length === 0) return
    // One statement for all: each entry is a text within the list.
    const texts = JSON.stringify(entries)
    this.#connection.execute(ADD_TO_JOURNAL, [runId, texts, now])
    const { metricSession, copiesMetrics } = this.#options
    if (metricSession !== null && !copiesMetrics && this.#hasMetrics())
      this.#connection.execute(ADD_METRICS, { run: runId, session: metricSession, texts })
  }

  /** True if the database has the table research_metrics: only the primary one does. */
  #hasMetrics(): boolean {
    this.#metrics ??= this.#connection.row(METRICS_TABLE) !== null
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

  #end(
    runId: string,
    { token }: Claim,
    turn: Exclude<NonNullable<WorkflowChange['turn']>, { readonly status: 'continued' }>,
    now: number
  ): void {
    const { status } = turn
    const hasEnded = status === 'completed' || status === 'failed'
    this.#connection.execute(
      `UPDATE workflow_run_log SET status = ?, lease_owner = NULL, lease_until_ms = NULL, completed_at_ms = ?, last_error = ?
        WHERE run_id = ?`,
      [status, hasEnded ? now : null, status === 'failed' ? turn.error : null, runId]
    )
    const [wakeAt, waitingFor] = status === 'waiting' ? [turn.wakeAt, turn.waitingFor] : [null, null]
    this.#connection.execute(
      'UPDATE workflow_run_state SET wake_at_ms = ?, waiting_for = ?, result_json = ? WHERE run_id = ?',
      [wakeAt, waitingFor, status === 'completed' ? turn.result : null, runId]
    )
    if (hasEnded) {
      crd.runInThread(this.#connection, crd.ackItems([{ ...token, freeKey: true }]))
      return
    }
    const isSignalled = waitingFor !== null && this.signal(runId, waitingFor) !== null
    // A signal that arrives from now on wakes the item.
    if (waitingFor !== null && wakeAt === null && !isSignalled) {
      crd.runInThread(this.#connection, crd.parkItems([token]))
      return
    }
    const waits = isSignalled || wakeAt === null ? 0 : Math.max(0, wakeAt - now)
    const delayMs = status === 'pending' ? (turn.delayMs ?? 0) : waits
    crd.runInThread(this.#connection, crd.nackItems([{ ...token, delayMs }]))
  }

  /** Begins the next generation of a run: without steps, with other arguments. Signals that were not consumed stay. */
  #continue(runId: string, { token }: Claim, args: string, now: number): void {
    const connection = this.#connection
    for (const table of ['workflow_activity_log', 'workflow_activity_attempt_log', 'workflow_step_state'])
      connection.execute(`DELETE FROM ${table} WHERE run_id = ?`, [runId])
    // Of the journal, the generation that ends now is kept.
    connection.execute(
      `DELETE FROM workflow_journal WHERE run_id = :run
        AND id <= (SELECT journal_id FROM workflow_run_generation WHERE run_id = :run)
        AND (:copied IS NULL OR id <= coalesce((SELECT CAST(value AS INTEGER) FROM coord_meta WHERE name = :copied), 0))`,
      { run: runId, copied: this.#options.copiesMetrics ? copiedMark(this.#options.program) : null }
    )
    connection.execute(
      `INSERT INTO workflow_run_generation (run_id, generation, journal_id)
        SELECT :run, 1, coalesce(max(id), 0) FROM workflow_journal WHERE run_id = :run
        ON CONFLICT (run_id) DO UPDATE SET generation = generation + 1, journal_id = excluded.journal_id`,
      { run: runId }
    )
    connection.execute(
      `UPDATE workflow_run_log SET status = 'pending', lease_owner = NULL, lease_until_ms = NULL, updated_at_ms = ?
        WHERE run_id = ?`,
      [now, runId]
    )
    connection.execute('UPDATE workflow_run_state SET args_json = ? WHERE run_id = ?', [args, runId])
    crd.runInThread(connection, crd.nackItems([{ ...token, delayMs: 0 }]))
  }
}

/**
 * True for a change that only says that an attempt has begun. If the machine loses power, the attempt runs again, and the
 * journal does not say so. Without an fsync for it, a step costs one instead of two.
 */
function isOnlyBegun({ completed, scheduled, attempt, signal, turn }: WorkflowChange): boolean {
  const hasMore = [completed, scheduled, signal, turn].some(each => each !== undefined)
  return !hasMore && (attempt === undefined || attempt.status === 'started')
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

/** SQL of the argument hashes of a run's steps. */
export const ARGS = 'SELECT activity_id, args_hashes FROM workflow_step_state WHERE run_id = ?'

export function hashesOf(text: SqlValue | undefined): readonly string[] {
  return JSON.parse(String(text)) as readonly string[]
}

/** SQL of the generation of a run; no row for the first one. */
export const GENERATION = 'SELECT generation FROM workflow_run_generation WHERE run_id = ?'

/** SQL of the generation of a run, and of whether the generation has begun. */
const BEGUN = `SELECT coalesce((SELECT generation FROM workflow_run_generation WHERE run_id = ?1), 0), EXISTS (
  SELECT 1 FROM workflow_journal WHERE run_id = ?1
    AND id > coalesce((SELECT journal_id FROM workflow_run_generation WHERE run_id = ?1), 0))`

export function recordOf(row: readonly SqlValue[]): RunRecord {
  const [runId, workflow, status, args, result, error, wakeAt, waitingFor, parent] = row
  return {
    runId: String(runId),
    workflow: String(workflow),
    status: String(status) as WorkflowStatus,
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
