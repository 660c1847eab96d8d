import type { AgentView, Durability, OrchestratorStatus, TaskFilter, TaskView } from '@svc/contracts'
import type { Agent } from './agent.ts'
import { toLoad } from './priority.ts'
import { type Task, taskView } from './task.ts'
import type { World } from './world.ts'

export function agentView(world: World, agent: Agent): AgentView {
  return agent.view(world.deps.trust.of(agent.id), world.files.count(agent.id))
}

export function agentViews(world: World): readonly AgentView[] {
  return Array.from(world.agents.values(), agent => agentView(world, agent)).sort((one, other) => one.id - other.id)
}

/** Returns the tasks that match a filter, sorted by id, up to the limit. */
export function taskViews(world: World, filter: TaskFilter): readonly TaskView[] {
  const { agent, status, session, after = 0, limit = Infinity } = filter
  const found: TaskView[] = []
  // Even with an agent, all tasks are searched: an agent lists only its unfinished tasks.
  for (const task of world.tasks.values()) {
    if (found.length >= limit) break
    if (task.id > after && matches(task, agent, status, session)) found.push(taskView(task))
  }
  return found
}

function matches(
  task: Task,
  agent: number | undefined,
  status: TaskFilter['status'],
  session: string | undefined
): boolean {
  return (
    (agent === undefined || task.agent === agent) &&
    (status === undefined || task.status.kind === status) &&
    (session === undefined || task.extra?.session_id === session)
  )
}

export function statusView(
  world: World,
  facts: {
    readonly durability: Durability
    readonly outbox: OrchestratorStatus['outbox']
    readonly scaling_profile: OrchestratorStatus['scaling_profile']
  }
): OrchestratorStatus {
  const { counts, totals, deps } = world
  const { enabled, max_agents } = deps.settings()
  const agents = agentViews(world)
  return {
    enabled,
    stopped: world.stopped !== null,
    durability: facts.durability,
    agent_count: agents.length,
    total_queued: counts.Queued,
    total_in_progress: counts.InProgress,
    total_completed: totals.completed,
    total_failed: totals.failed,
    total_cancelled: totals.cancelled,
    total_doubted: counts.Doubted,
    total_blocked: counts.Blocked,
    total_blocked_on_approval: counts.BlockedOnApproval,
    locked_files: world.locks.size,
    total_contention: world.locks.contention,
    total_weighted_load: toLoad(world.load),
    predicted_load: deps.scaler.predictedLoad,
    reserved_agents: Math.max(0, max_agents - agents.length),
    dynamic_agents: agents.filter(agent => agent.dynamic).length,
    max_handoff_count: agents.reduce((max, agent) => Math.max(max, agent.max_handoff_count), 0),
    scaling_profile: facts.scaling_profile,
    effective_scale_up_threshold: deps.scaler.effectiveThreshold,
    outbox: facts.outbox,
    agents
  }
}
