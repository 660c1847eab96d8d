import type { DatabaseTransaction, TaskEnd } from '@svc/contracts'
import type { ExecutionPolicy, NodeStatus } from '../store/plan-rows.ts'

/**
 * Records the outcome of a step's task and returns the new status of the step. Returns null if the status does not
 * change: the step is unknown, completed or superseded, or the outcome was already recorded.
 */
export async function recordEnd(
  tx: DatabaseTransaction,
  end: TaskEnd & { readonly plan: NonNullable<TaskEnd['plan']> }
): Promise<NodeStatus | null> {
  const { session_id, node_id, version } = end.plan
  const key = [session_id, version, node_id] as const
  const where = 'WHERE plan_session_id = ? AND version = ? AND node_id = ?'
  const { rows } = await tx.query(`SELECT status, execution_policy_json FROM plan_nodes ${where}`, key)
  const [node] = rows
  if (node === undefined) return null
  const { rows: attempts } = await tx.query(
    `SELECT id, outcome FROM plan_node_attempts ${where} AND task_id = ? ORDER BY id DESC LIMIT 1`,
    [...key, end.task_id]
  )
  const attempt = attempts[0]
  if (attempt?.[1] === end.outcome) return null
  const latency = end.started_at_ms === undefined ? null : Math.max(0, end.ended_at_ms - end.started_at_ms)
  if (attempt === undefined)
    await tx.execute(
      `INSERT INTO plan_node_attempts
        (plan_session_id, version, node_id, attempt_no, task_id, outcome, error_text, latency_ms)
        SELECT ?1, ?2, ?3, count(*) + 1, ?4, ?5, ?6, ?7 FROM plan_node_attempts
        WHERE plan_session_id = ?1 AND version = ?2 AND node_id = ?3`,
      [...key, end.task_id, end.outcome, end.reason ?? null, latency]
    )
  else
    await tx.execute('UPDATE plan_node_attempts SET outcome = ?, error_text = ?, latency_ms = ? WHERE id = ?', [
      end.outcome,
      end.reason ?? null,
      latency,
      attempt[0] ?? null
    ])
  const [status, policy] = node
  if (status === 'completed' || status === 'superseded') return null
  const next = await statusAfter()
  await tx.execute(`UPDATE plan_nodes SET status = ?, updated_at = datetime('now') ${where}`, [next, ...key])
  return next

  async function statusAfter(): Promise<NodeStatus> {
    if (end.outcome === 'completed' || end.outcome === 'cancelled') return end.outcome
    const { rows: failures } = await tx.query(
      `SELECT count(*) FROM plan_node_attempts ${where} AND outcome IN ('failed', 'expired')`,
      key
    )
    const { max_retries } = JSON.parse(String(policy)) as ExecutionPolicy
    return Number(failures[0]?.[0]) <= max_retries ? 'pending' : 'failed'
  }
}
