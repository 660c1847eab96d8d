import { type AgentBudget, agentLabel, processLabel, type RepositoryAgent, taskLabel } from '@svc/contracts'
import { defined, type Infer, t } from '@svc/plugin-sdk'
import { activity, trustTier } from '../fields.ts'

export const agentRow = t.object({
  id: t.integer(),
  agent: t.string({ description: 'Label of the agent, such as A-03.' }),
  name: t.string(),
  process: t.string({ description: 'Process that holds the agent, for example 4711 on box.' }),
  own: t.boolean({ description: 'True if the answering process holds the agent.' }),
  state: t.enum(['working', 'waiting', 'idle', 'paused'], {
    description: 'waiting: tasks are queued, but none is claimed.'
  }),
  activity: t.optional(activity),
  task_id: t.optional(t.integer({ description: 'The current task.' })),
  task: t.optional(t.string({ description: 'Label of the current task.' })),
  queued: t.integer(),
  urgent: t.integer(),
  normal: t.integer(),
  background: t.integer(),
  doubted: t.integer(),
  completed: t.integer(),
  load: t.number({ description: 'Sum over its tasks of priority factor × complexity / 5.' }),
  trust: t.number({ minimum: 0, maximum: 1 }),
  trust_tier: trustTier,
  tokens_used: t.optional(t.integer()),
  max_tokens: t.optional(t.integer()),
  cost_usd: t.optional(t.number()),
  max_cost_usd: t.optional(t.number()),
  budget: t.optional(
    t.string({ description: 'Signal of the budget: Normal, HighLoad, Critical, CostExceeded and others.' })
  ),
  owned_files: t.integer(),
  session_id: t.optional(t.string()),
  parent_agent_id: t.optional(t.integer()),
  dynamic: t.boolean({ description: 'Whether the agent is retired after a long idle time.' }),
  control: t.enum(['pause', 'resume', 'none'], {
    description: 'What a user can do here; none for an agent of another process.'
  })
})
export type AgentRow = Infer<typeof agentRow>

/** Returns the row of an agent. `budget`: null for an agent of another process, which has its own budgets. */
export function agentRowOf(agent: RepositoryAgent, budget: AgentBudget | null): AgentRow {
  const { id, current_task, session_id, parent_agent_id } = agent
  return defined({
    id,
    agent: agentLabel(id),
    name: agent.name,
    process: processLabel(agent.process),
    own: agent.process.own,
    state: stateOf(agent),
    activity: agent.activity,
    task_id: current_task ?? undefined,
    task: current_task === null ? undefined : taskLabel(current_task),
    queued: agent.queued,
    urgent: agent.urgent,
    normal: agent.normal,
    background: agent.background,
    doubted: agent.doubted,
    completed: agent.completed,
    load: agent.weighted_load,
    trust: agent.trust,
    trust_tier: agent.trust_tier,
    tokens_used: budget?.tokens_used,
    max_tokens: budget?.max_tokens,
    cost_usd: budget?.cost_usd,
    max_cost_usd: budget?.max_cost_usd,
    budget: budget?.signal,
    owned_files: agent.owned_files,
    session_id,
    parent_agent_id,
    dynamic: agent.dynamic,
    control: agent.process.own ? (agent.paused ? 'resume' : 'pause') : 'none'
  }) as AgentRow
}

function stateOf({ paused, current_task, queued }: RepositoryAgent): AgentRow['state'] {
  if (paused) return 'paused'
  if (current_task !== null) return 'working'
  return queued > 0 ? 'waiting' : 'idle'
}
