import {
  type DatabaseStore,
  type DatabaseTransaction,
  orchestrationErrors,
  rowsByName,
  type SqlStatement,
  type SqlValue
} from '@svc/contracts'
import { planningErrors } from '../errors.ts'
import {
  type NewNode,
  type NewVersion,
  type NodeAttempt,
  type NodeStatus,
  type PlanNode,
  type PlanOverview,
  type PlanSession,
  type PlanVersion,
  type SessionMetadata,
  type SessionStatus,
  UNFINISHED
} from './plan-rows.ts'

export interface NewSession {
  readonly id: string
  readonly originSession: string | null
  readonly goal: string
  readonly strategy: string
  readonly status: SessionStatus
  readonly rounds: number
  readonly stopReason: string | null
  readonly metadata: SessionMetadata
  readonly version: NewVersion
  readonly nodes: readonly NewNode[]
}

type Queries = Pick<DatabaseStore, 'query'>
type Row = Record<string, SqlValue>

/**
 * Stores plans in the primary database. Each status change of a node names the expected old status, so that only one of
 * several processes can claim a step.
 */
export class PlanStore {
  readonly #database: DatabaseStore
  readonly #changed: () => void

  /** `changed`: called after a change is stored. */
  constructor(database: DatabaseStore, changed: () => void = () => {}) {
    this.#database = database
    this.#changed = changed
  }

  async create(session: NewSession): Promise<void> {
    await this.#database.batch([
      {
        sql: `INSERT INTO plan_sessions (plan_session_id, origin_session_id, goal_text, strategy, current_version, status,
          iterative_loop_round, iterative_stop_reason, iterative_loop_metadata_json) VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?)`,
        parameters: [
          session.id,
          session.originSession,
          session.goal,
          session.strategy,
          session.status,
          session.rounds,
          session.stopReason,
          JSON.stringify(session.metadata)
        ]
      },
      ...versionStatements(session.id, 1, null, session.version, session.nodes)
    ])
    this.#changed()
  }

  /**
   * Adds a version and supersedes the unfinished steps of the previous one. Resolves to false if `session.version` is
   * no longer the current version.
   */
  async addVersion(
    session: PlanSession,
    version: NewVersion,
    nodes: readonly NewNode[],
    change: { readonly goal: string; readonly status: SessionStatus; readonly metadata: SessionMetadata }
  ): Promise<boolean> {
    const next = session.version + 1
    const isAdded = await this.#database.transaction(async tx => {
      const { changes } = await tx.execute(
        `UPDATE plan_sessions SET current_version = ?, goal_text = ?, status = ?, iterative_loop_metadata_json = ?,
          updated_at = datetime('now') WHERE plan_session_id = ? AND current_version = ?`,
        [next, change.goal, change.status, JSON.stringify(change.metadata), session.id, session.version]
      )
      if (changes === 0) return false
      await tx.execute(
        `UPDATE plan_nodes SET status = 'superseded', updated_at = datetime('now')
          WHERE plan_session_id = ? AND version = ? AND status IN (${placeholders(UNFINISHED)})`,
        [session.id, session.version, ...UNFINISHED]
      )
      for (const { sql, parameters } of versionStatements(session.id, next, session.version, version, nodes))
        await tx.execute(sql, parameters)
      return true
    })
    if (isAdded) this.#changed()
    return isAdded
  }

  /** Returns a plan; throws `PLN_SESSION_UNKNOWN` if it does not exist. */
  async session(id: string): Promise<PlanSession> {
    const found = await this.find(id)
    if (found === null)
      throw planningErrors.create('PLN_SESSION_UNKNOWN', `no plan has the session id ${JSON.stringify(id)}`, {
        hint: 'svc plan list shows all plans'
      })
    return found
  }

  async find(id: string): Promise<PlanSession | null> {
    const [row] = rowsByName(await this.#database.query('SELECT * FROM plan_sessions WHERE plan_session_id = ?', [id]))
    return row === undefined ? null : sessionOf(row)
  }

  /** Returns plans, newest first. */
  async sessions(filter: {
    readonly status?: SessionStatus
    readonly limit: number
    readonly offset: number
  }): Promise<readonly PlanSession[]> {
    const { status = null, limit, offset } = filter
    const result = await this.#database.query(
      `SELECT * FROM plan_sessions WHERE ? IS NULL OR status = ? ORDER BY created_at DESC, rowid DESC LIMIT ? OFFSET ?`,
      [status, status, limit, offset]
    )
    return rowsByName(result).map(sessionOf)
  }

  /** Returns plans with the progress of their current version, newest first. `text`: part of the id or the goal. */
  async overview(filter: { readonly text?: string; readonly limit: number }): Promise<readonly PlanOverview[]> {
    const pattern = filter.text === undefined ? null : `%${filter.text.replace(/[!%_]/g, '!$&')}%`
    const result = await this.#database.query(
      `SELECT s.*, count(n.node_id) AS steps, coalesce(sum(n.status = 'completed'), 0) AS completed
        FROM plan_sessions AS s
        LEFT JOIN plan_nodes AS n ON n.plan_session_id = s.plan_session_id AND n.version = s.current_version
        WHERE ?1 IS NULL OR s.plan_session_id LIKE ?1 ESCAPE '!' OR s.goal_text LIKE ?1 ESCAPE '!'
        GROUP BY s.plan_session_id ORDER BY s.created_at DESC, s.rowid DESC LIMIT ?2`,
      [pattern, filter.limit]
    )
    return rowsByName(result).map(row => ({
      session: sessionOf(row),
      steps: Number(row.steps),
      completed: Number(row.completed)
    }))
  }

  async nodes(session: string, version: number): Promise<readonly PlanNode[]> {
    return nodesOf(this.#database, session, version)
  }

  async versions(session: string): Promise<readonly PlanVersion[]> {
    const result = await this.#database.query(
      'SELECT * FROM plan_versions WHERE plan_session_id = ? ORDER BY version',
      [session]
    )
    return rowsByName(result).map(row => ({
      version: Number(row.version),
      parent: row.parent_version === null ? null : Number(row.parent_version),
      triggerEvent: textOrNull(row.trigger_event),
      quality: Number(row.quality_score),
      verdict: String(row.reviewer_verdict),
      createdAt: String(row.created_at)
    }))
  }

  async attempts(session: string, version?: number): Promise<readonly NodeAttempt[]> {
    const result = await this.#database.query(
      'SELECT * FROM plan_node_attempts WHERE plan_session_id = ? AND (? IS NULL OR version = ?) ORDER BY id',
      [session, version ?? null, version ?? null]
    )
    return rowsByName(result).map(attemptOf)
  }

  /** Changes the status of a node from `from` to `to`; false if its status is not `from`. */
  async move(
    session: string,
    node: Pick<PlanNode, 'id' | 'version'>,
    from: NodeStatus,
    to: NodeStatus
  ): Promise<boolean> {
    const { changes } = await this.#database.execute(
      `UPDATE plan_nodes SET status = ?, updated_at = datetime('now')
        WHERE plan_session_id = ? AND version = ? AND node_id = ? AND status = ?`,
      [to, session, node.version, node.id, from]
    )
    if (changes > 0) this.#changed()
    return changes > 0
  }

  async setStatus(session: string, from: readonly SessionStatus[], to: SessionStatus): Promise<boolean> {
    const { changes } = await this.#database.execute(
      `UPDATE plan_sessions SET status = ?, updated_at = datetime('now')
        WHERE plan_session_id = ? AND status IN (${placeholders(from)})`,
      [to, session, ...from]
    )
    if (changes > 0) this.#changed()
    return changes > 0
  }

  /** Stores another attempt at a node: its task, or the reason why no task was created. */
  async attempted(
    session: string,
    node: Pick<PlanNode, 'id' | 'version'>,
    attempt: { readonly task: number } | { readonly refused: string }
  ): Promise<void> {
    const task = 'task' in attempt ? attempt.task : null
    const refused = 'refused' in attempt ? attempt.refused : null
    await this.#database.execute(
      `INSERT INTO plan_node_attempts (plan_session_id, version, node_id, attempt_no, task_id, outcome, error_text)
        SELECT ?1, ?2, ?3, count(*) + 1, ?4, ?5, ?6 FROM plan_node_attempts
        WHERE plan_session_id = ?1 AND version = ?2 AND node_id = ?3
        HAVING ?4 IS NULL OR coalesce(sum(task_id = ?4), 0) = 0`,
      [session, node.version, node.id, task, refused === null ? null : 'refused', refused]
    )
    this.#changed()
  }

  /** Replaces each execution policy of the current version by the result of `change`. */
  async changePolicies(session: PlanSession, change: (node: PlanNode) => PlanNode['policy']): Promise<void> {
    const nodes = await this.nodes(session.id, session.version)
    await this.#database.batch(
      nodes.map(node => ({
        sql: 'UPDATE plan_nodes SET execution_policy_json = ? WHERE plan_session_id = ? AND version = ? AND node_id = ?',
        parameters: [JSON.stringify(change(node)), session.id, node.version, node.id]
      }))
    )
  }

  /** Runs a function in one transaction. */
  async transaction<A>(run: (tx: DatabaseTransaction) => Promise<A>): Promise<A> {
    const result = await this.#database.transaction(run)
    this.#changed()
    return result
  }

  /** Returns the outcome of a task from the lineage, for tasks unknown to this process; null if none is recorded. */
  async recordedOutcome(task: number): Promise<'completed' | 'failed' | null> {
    const { rows } = await this.#database.query(
      `SELECT kind FROM orchestration_lineage_events WHERE task_id = ? AND kind IN ('task_completed', 'task_failed')
        ORDER BY id DESC LIMIT 1`,
      [task]
    )
    const kind = rows[0]?.[0]
    return kind === 'task_completed' ? 'completed' : kind === 'task_failed' ? 'failed' : null
  }

  /** Returns the seconds since the status of a node changed. */
  async secondsSince(session: string, node: Pick<PlanNode, 'id' | 'version'>): Promise<number> {
    const { rows } = await this.#database.query(
      `SELECT strftime('%s', 'now') - strftime('%s', updated_at) FROM plan_nodes
        WHERE plan_session_id = ? AND version = ? AND node_id = ?`,
      [session, node.version, node.id]
    )
    return Number(rows[0]?.[0] ?? 0)
  }
}

/** Returns the error for operations that need stored plans if no database is attached. */
export function noDatabase(): Error {
  return orchestrationErrors.create('ORC_NO_DATABASE', 'Database not attached: plans require it', {
    hint: 'enable the plugin database in svc.toml'
  })
}

async function nodesOf(database: Queries, session: string, version: number): Promise<readonly PlanNode[]> {
  const result = await database.query(
    'SELECT * FROM plan_nodes WHERE plan_session_id = ? AND version = ? ORDER BY rowid',
    [session, version]
  )
  return rowsByName(result).map(nodeOf)
}

function versionStatements(
  session: string,
  version: number,
  parent: number | null,
  about: NewVersion,
  nodes: readonly NewNode[]
): (Exclude<SqlStatement, string> & { readonly parameters: readonly (string | number | null)[] })[] {
  return [
    {
      sql: `INSERT INTO plan_versions (plan_session_id, version, parent_version, trigger_event, trigger_payload_json,
        quality_score, reviewer_verdict) VALUES (?, ?, ?, ?, ?, ?, ?)`,
      parameters: [
        session,
        version,
        parent,
        about.triggerEvent,
        JSON.stringify(about.triggerPayload),
        about.quality,
        about.verdict
      ]
    },
    ...nodes.map(node => ({
      sql: `INSERT INTO plan_nodes (plan_session_id, version, node_id, description, dependencies_json,
        execution_policy_json, status, workflow_invocation) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      parameters: [
        session,
        version,
        node.id,
        node.description,
        JSON.stringify(node.dependsOn),
        JSON.stringify(node.policy),
        node.status,
        node.workflow
      ]
    }))
  ]
}

function sessionOf(row: Row): PlanSession {
  return {
    id: String(row.plan_session_id),
    originSession: textOrNull(row.origin_session_id),
    goal: String(row.goal_text),
    strategy: String(row.strategy ?? ''),
    version: Number(row.current_version),
    status: String(row.status) as SessionStatus,
    rounds: Number(row.iterative_loop_round),
    stopReason: textOrNull(row.iterative_stop_reason),
    metadata: JSON.parse(textOrNull(row.iterative_loop_metadata_json) ?? '{}') as SessionMetadata,
    createdAt: String(row.created_at),
    updatedAt: String(row.updated_at)
  }
}

function nodeOf(row: Row): PlanNode {
  return {
    id: String(row.node_id),
    version: Number(row.version),
    description: String(row.description),
    dependsOn: JSON.parse(String(row.dependencies_json)) as string[],
    policy: JSON.parse(String(row.execution_policy_json)) as PlanNode['policy'],
    status: String(row.status) as NodeStatus,
    workflow: textOrNull(row.workflow_invocation)
  }
}

function attemptOf(row: Row): NodeAttempt {
  return {
    version: Number(row.version),
    node: String(row.node_id),
    number: Number(row.attempt_no),
    task: row.task_id === null ? null : Number(row.task_id),
    outcome: textOrNull(row.outcome),
    error: textOrNull(row.error_text),
    latencyMs: row.latency_ms === null ? null : Number(row.latency_ms),
    createdAt: String(row.created_at)
  }
}

function textOrNull(value: SqlValue | undefined): string | null {
  return value === null || value === undefined ? null : String(value)
}

function placeholders(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ')
}
