import type { SubmitRequest } from '@svc/contracts'
import { qualityCodes } from '../assess/quality-gate.ts'
import { planningErrors } from '../errors.ts'
import type { PlanNode, PlanSession } from '../store/plan-rows.ts'

/** Returns the task of a step. It requires a user's approval unless `planning_auto_mode_enabled` is on. */
export function stepRequest(session: PlanSession, node: PlanNode, autoMode: boolean): SubmitRequest {
  const { policy } = node
  const { request = {} } = session.metadata
  const { depends_on, ...inherited } = request
  const mayWrite = policy.allowed_action_labels.includes('write')
  const latency = policy.timeout_ms === undefined ? {} : { budget: { max_latency_ms: policy.timeout_ms } }
  return {
    ...inherited,
    // The first steps inherit the goal's dependencies.
    ...(depends_on === undefined || node.dependsOn.length > 0 ? {} : { depends_on }),
    description: node.description,
    files: mayWrite
      ? policy.file_manifest
      : policy.file_manifest.map(({ path }) => ({ path, access: 'read' as const })),
    ...(session.originSession === null ? {} : { session_id: session.originSession }),
    hints: { ...request.hints, ...policy.enqueue_hints, ...latency, ...(autoMode ? {} : { requires_approval: true }) },
    plan: { session_id: session.id, node_id: node.id, version: node.version },
    execution_policy_json: JSON.stringify(policy)
  }
}

/** Throws `PLN_QUALITY_GATE` if a step has quality codes and no override. Workflow handoffs are exempt. */
export function checkQuality(
  session: string,
  nodes: readonly Pick<PlanNode, 'id' | 'description' | 'policy' | 'workflow'>[]
): void {
  const refused = nodes.flatMap(({ id, description, policy, workflow }) => {
    if (workflow !== null || (policy.force_risky && (policy.force_risky_reason ?? '').trim() !== '')) return []
    const codes = qualityCodes(
      description,
      policy.file_manifest.map(({ path }) => path)
    )
    return codes.length === 0 ? [] : [{ node_id: id, codes }]
  })
  if (refused.length === 0) return
  const listed = refused.map(({ node_id, codes }) => `${node_id} (${codes.join(', ')})`).join('; ')
  throw planningErrors.create('PLN_QUALITY_GATE', `Quality gate: steps of ${session} cannot be executed: ${listed}`, {
    data: { nodes: refused },
    hint: 'replan with a more detailed hint, or execute the plan with force_risky_reason'
  })
}
