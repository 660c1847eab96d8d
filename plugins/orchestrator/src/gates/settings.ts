import type { Settings } from '../settings.ts'

/** Settings of the section `[orchestrator]` for the gates. */
export type GateSettings = Pick<
  Settings,
  | 'tier_enforcement'
  | 'stubcheck_gate'
  | 'max_debug_iterations'
  | 'max_stubcheck_debug_iterations'
  | 'max_qgate_debug_iterations'
  | 'qgate_gate_shadow'
  | 'qgate_gate_enforce'
  | 'completion_grounding_shadow'
  | 'completion_grounding_enforce'
  | 'harness_completion_guard'
  | 'behavioral_gate_on_complete'
  | 'behavioral_gate_command'
  | 'completion_markdown_link_audit_enabled'
  | 'trust_gate_relax_enabled'
  | 'trust_gate_relax_min_reliability'
  | 'trust_task_completion_floor'
  | 'socrates_policy'
>

/** Returns true if an agent is reliable enough to skip the quality and grounding gates. */
export function isTrustRelaxed(
  settings: Pick<GateSettings, 'trust_gate_relax_enabled' | 'trust_gate_relax_min_reliability'>,
  reliability: number
): boolean {
  return settings.trust_gate_relax_enabled && reliability >= settings.trust_gate_relax_min_reliability
}
