import type { QgatePolicy } from '@svc/contracts'

/** Settings of the section `[orchestrator]` that the gates obey. */
export interface GateSettings {
  readonly tier_enforcement: boolean
  readonly stubcheck_gate: boolean
  readonly max_debug_iterations: number
  readonly max_stubcheck_debug_iterations: number
  readonly max_qgate_debug_iterations: number
  readonly qgate_gate_shadow: boolean
  readonly qgate_gate_enforce: boolean
  readonly completion_grounding_shadow: boolean
  readonly completion_grounding_enforce: boolean
  readonly harness_completion_guard: 'off' | 'shadow' | 'warn' | 'enforce' | 'strict'
  readonly behavioral_gate_on_complete: boolean
  readonly behavioral_gate_command?: string | undefined
  readonly completion_markdown_link_audit_enabled: boolean
  readonly trust_gate_relax_enabled: boolean
  /** [0, 1]. */
  readonly trust_gate_relax_min_reliability: number
  /** [0, 1]. */
  readonly trust_task_completion_floor: number
  readonly socrates_policy: { readonly [K in keyof QgatePolicy]?: number | undefined }
}

/** Whether an agent's record spares it what quality and grounding would ask again. */
export function isTrustRelaxed(
  settings: Pick<GateSettings, 'trust_gate_relax_enabled' | 'trust_gate_relax_min_reliability'>,
  reliability: number
): boolean {
  return settings.trust_gate_relax_enabled && reliability >= settings.trust_gate_relax_min_reliability
}
