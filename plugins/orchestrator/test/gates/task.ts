import type { Attestation, TaskView, TrustView } from '@svc/contracts'
import type { GateSettings } from '#gates'

export const settings: GateSettings = {
  tier_enforcement: true,
  stubcheck_gate: true,
  max_debug_iterations: 3,
  max_stubcheck_debug_iterations: 3,
  max_qgate_debug_iterations: 3,
  qgate_gate_shadow: false,
  qgate_gate_enforce: false,
  completion_grounding_shadow: false,
  completion_grounding_enforce: false,
  harness_completion_guard: 'off',
  behavioral_gate_on_complete: false,
  completion_markdown_link_audit_enabled: false,
  trust_gate_relax_enabled: false,
  trust_gate_relax_min_reliability: 0.85,
  trust_task_completion_floor: 0.25,
  socrates_policy: {}
}

export const trust: TrustView = {
  agent_id: 1,
  score: 0.5,
  tier: 'Untrusted',
  outcomes: 0,
  overridden: false,
  reliability: 0.5
}

/** Returns a task in progress that writes no file. */
export function task(over: Partial<TaskView> = {}): TaskView {
  return {
    id: 42,
    description: 'Fix the parser',
    status: { kind: 'InProgress' },
    priority: 'Normal',
    agent_id: 1,
    files: [],
    depends_on: [],
    complexity: 5,
    category: 'General',
    role: 'builder',
    created_at_ms: 1,
    trace_id: 'trace',
    approval_tier: 'AutoApprove',
    placement_reason: 'local_queue_default',
    debug_iterations: 0,
    stubcheck_iterations: 0,
    qgate_iterations: 0,
    retry_count: 0,
    handoff_count: 0,
    recoveries: 0,
    ...over
  }
}

/** Attestation that passes every gate. */
export const honest: Attestation = {
  completion_summary: 'The parser reads nested lists now, and says where it stops.',
  checks_passed: ['unit tests'],
  declared_non_placeholder: true
}
