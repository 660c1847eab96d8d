import { t } from '@svc/plugin-sdk'
import { flag, integer, table } from './declare.ts'

const truthy = (variable: string, description: string) =>
  t.boolean({ default: false, description, 'x-env': variable, 'x-env-type': 'truthy', 'x-reload': 'live' })

const pilot = (suffix: string, description: string) => truthy(`SVC_MCP_ORCHESTRATOR_${suffix}`, description)

const planning = (value: boolean, env: string, description: string) => flag(value, description, { env, live: true })

/** Settings of other plugins, which read them from `orchestrator.policy`. */
export const neighbours = {
  planning_enabled: planning(false, 'PLANNING_ENABLED', 'Whether goals may be planned.'),
  planning_router_enabled: planning(
    false,
    'PLANNING_ROUTER_ENABLED',
    'Whether each goal is routed to a task, a plan or a workflow.'
  ),
  planning_replan_enabled: planning(
    false,
    'PLANNING_REPLAN_ENABLED',
    'Whether a failed step may create a new version of its plan.'
  ),
  planning_llm_synthesis_enabled: planning(false, 'PLAN_LLM_SYNTHESIS', 'Whether a model writes the steps of a plan.'),
  planning_workflow_handoff_enabled: planning(
    false,
    'PLANNING_WORKFLOW_HANDOFF_ENABLED',
    'Whether a goal may become a workflow.'
  ),
  planning_shadow_mode: planning(
    false,
    'PLANNING_SHADOW_MODE',
    'Whether the route is only reported, and the goal submitted as a task.'
  ),
  planning_auto_mode_enabled: planning(
    false,
    'PLANNING_AUTO_MODE_ENABLED',
    'Whether goals are planned even if the request does not ask for it, and steps need no approval.'
  ),
  planning_rollout_percent: integer(0, [0, 100], 'Share of goals that use the planning router, in percent.', {
    env: 'PLANNING_ROLLOUT_PERCENT',
    live: true
  }),
  plan_adequacy_shadow: planning(
    true,
    'PLAN_ADEQUACY_SHADOW',
    'Whether the adequacy of plans is scored and only reported.'
  ),
  plan_adequacy_enforce: planning(
    false,
    'PLAN_ADEQUACY_ENFORCE',
    'Whether plans with a low adequacy score are rejected.'
  ),
  planning_depth: t.enum(['minimal', 'standard', 'deep'], {
    default: 'standard',
    'x-reload': 'live',
    description: 'Level of detail of plans.'
  }),
  context_lifecycle_shadow: flag(false, 'Whether faults of context envelopes are logged.', {
    env: 'CONTEXT_LIFECYCLE_SHADOW',
    live: true
  }),
  context_lifecycle_enforce: flag(false, 'Whether faulty context envelopes are rejected.', {
    env: 'CONTEXT_LIFECYCLE_ENFORCE',
    live: true
  }),
  chatml_strict: flag(false, 'Whether prompts are flattened to one ChatML string.', {
    env: 'CHATML_STRICT',
    live: true
  }),
  research_model_enabled: flag(false, 'Whether research may use the research model.', {
    env: 'RESEARCH_MODEL_ENABLED',
    live: true
  }),
  inference_base_url: t.optional(
    t.string({
      pattern: '^https?://[^\\s/?#]',
      'x-env': 'SVC_ORCHESTRATOR_INFERENCE_BASE_URL',
      'x-env-empty': 'clear',
      'x-reload': 'live',
      'x-aliases': ['populi_inference_base_url'],
      description: 'Base URL of the model server for tasks. Default: the project’s model server.'
    })
  ),
  orchestration_migration: table({
    orchestration_v2_enabled: flag(false, 'Whether responses to submits name version 2 of the contract.', {
      env: 'MIGRATION_V2_ENABLED',
      live: true
    }),
    legacy_orchestration_fallback: flag(
      true,
      'Whether version 1 of the contract is still supported; reported to clients.',
      {
        env: 'MIGRATION_LEGACY_FALLBACK',
        live: true
      }
    )
  }),
  account_id: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_ACCOUNT_ID',
      'x-reload': 'live',
      description: 'Tenant of tasks that name none.'
    })
  ),
  unified_routing: truthy(
    'SVC_UNIFIED_ROUTING',
    'Whether routing decisions carry the label of the unified-routing experiment.'
  ),
  llm_cost_events: t.optional(
    t.boolean({
      'x-env': 'SVC_MCP_LLM_COST_EVENTS',
      'x-env-type': 'truthy',
      'x-reload': 'live',
      description: 'Whether costs of models are published as events. Default: only without a database.'
    })
  ),
  daemon_pilots: table({
    repository_id_strict: pilot(
      'DAEMON_REPOSITORY_ID_STRICT',
      'Whether a daemon of another repository is logged as an error instead of a warning.'
    ),
    reads: pilot('RPC_READS', 'Whether all tools that read ask the daemon.'),
    task_status: pilot('TASK_STATUS_RPC', 'Whether the status of a task is requested from the daemon.'),
    start: pilot('START_RPC', 'Whether the start tool lists the daemon’s agents.'),
    status_tool: pilot('STATUS_TOOL_RPC', 'Whether the status tool includes the daemon.'),
    writes: pilot('RPC_WRITES', 'Whether all tools that write run in the daemon.'),
    task_writes: pilot('TASK_WRITES_RPC', 'Whether tools that change tasks run in the daemon.'),
    agent_writes: pilot('AGENT_WRITES_RPC', 'Whether tools that change agents run in the daemon.')
  })
}
