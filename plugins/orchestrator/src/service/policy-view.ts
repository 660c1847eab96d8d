import type { Durability, OrchestratorPolicy } from '@svc/contracts'
import { qgatePolicy } from '../policy/judge.ts'
import { meshPolicy } from '../settings/mesh.ts'
import type { Settings } from '../settings.ts'

/** Returns the settings in the form that other plugins read. */
export function policyView(settings: Settings, durability: Durability['kind']): OrchestratorPolicy {
  return {
    planning: {
      enabled: settings.planning_enabled,
      router_enabled: settings.planning_router_enabled,
      replan_enabled: settings.planning_replan_enabled,
      llm_synthesis_enabled: settings.planning_llm_synthesis_enabled,
      workflow_handoff_enabled: settings.planning_workflow_handoff_enabled,
      shadow_mode: settings.planning_shadow_mode,
      auto_mode_enabled: settings.planning_auto_mode_enabled,
      rollout_percent: settings.planning_rollout_percent,
      adequacy_shadow: settings.plan_adequacy_shadow,
      adequacy_enforce: settings.plan_adequacy_enforce,
      depth: settings.planning_depth
    },
    qgate: qgatePolicy(settings.socrates_policy),
    context_lifecycle: { shadow: settings.context_lifecycle_shadow, enforce: settings.context_lifecycle_enforce },
    chatml_strict: settings.chatml_strict,
    research_model_enabled: settings.research_model_enabled,
    cost_preference: settings.cost_preference,
    inference_base_url: settings.inference_base_url ?? null,
    // With a database, costs are stored as rows instead.
    llm_cost_events: settings.llm_cost_events ?? durability === 'memory',
    migration: {
      v2_enabled: settings.orchestration_migration.orchestration_v2_enabled,
      legacy_fallback: settings.orchestration_migration.legacy_orchestration_fallback
    },
    campaign_id: settings.campaign_id ?? null,
    account_id: settings.account_id ?? null,
    unified_routing: settings.unified_routing,
    max_agents: settings.max_agents,
    mesh: meshPolicy(settings),
    daemon_pilots: settings.daemon_pilots
  }
}
