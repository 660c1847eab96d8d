import type { CapabilityHints, TrustView } from '@svc/contracts'
import type { RoutingSettings } from '#routing'
import type { RoutableAgent, RouteDecision, TaskToRoute } from '#state'

/** All inputs of a routing decision. */
export interface NaiveWorld {
  readonly agents: readonly RoutableAgent[]
  readonly owners: ReadonlyMap<string, number>
  readonly groupAgents: ReadonlyMap<string, number>
  readonly groupOf: (path: string) => string | null
  readonly trust: (agent: number) => TrustView
  readonly completionTrust: (agent: number) => number | null
  readonly skill: (agent: number, phase: string) => number
  readonly meanSkill: (agent: number) => number
  readonly shardFailures: (agent: number) => number
  readonly inCooldown: (agent: number) => boolean
  readonly hasRoom: boolean
  readonly settings: RoutingSettings
  readonly schedulableNodes: number
  readonly newAgent: CapabilityHints
  readonly random: () => number
}

type Decision = Pick<RouteDecision, 'rule' | 'group'> & { readonly agent?: number; readonly name?: string }

/** Reference router: applies the table of section 2.12, row by row, to every agent. */
export function naiveRoute(task: TaskToRoute, world: NaiveWorld): Decision {
  const { agents, settings } = world
  const groups = new Set(task.files.map(({ path }) => world.groupOf(path)).filter(group => group !== null))
  const group = [...groups][0] ?? null
  const oldest = (some: readonly RoutableAgent[]) => some.toSorted((a, b) => a.id - b.id)[0]
  if (task.agent_name !== undefined) {
    const named = oldest(agents.filter(({ name }) => name === task.agent_name))
    if (named === undefined) return { name: task.agent_name, rule: 'target_agent', group }
    return { agent: named.id, rule: 'target_agent', group }
  }
  const phase = /\[PHASE:(SHARD_GEN|SHARD_VALIDATE|REDUCE)\]/.exec(task.description)?.[1]?.toLowerCase()
  const labels = [...(task.capabilities?.labels ?? []), ...(task.required_labels ?? [])]
  const trainingLabels = labels.filter(label => /^(workload|pool)=/.test(label))
  const isTraining = settings.mesh_training_routing_experimental && trainingLabels.length > 0
  const hasNodes = settings.mesh_routing_experimental && world.schedulableNodes > 0
  const common =
    phase !== undefined || isTraining || hasNodes || settings.qgate_reputation_routing || settings.attention_enabled
  const covers = (agent: RoutableAgent, some: readonly string[]) =>
    some.every(label => agent.capabilities.labels?.includes(label))

  const owned = (id: number) => task.files.filter(({ path }) => world.owners.get(path) === id).length
  const isDefault = (id: number) => [...groups].some(of => world.groupAgents.get(of) === id)
  const penalty = (agent: RoutableAgent) => penaltyOf(task.capabilities ?? {}, agent.capabilities)
  const ownLinks = (agent: RoutableAgent) => owned(agent.id) > 0 || isDefault(agent.id) || groups.has(agent.name)

  const score = (agent: RoutableAgent): number => {
    const { id, capabilities } = agent
    let sum = 10 * owned(id)
    if (isDefault(id)) sum += 15
    if (groups.has(agent.name)) sum += 5
    sum += -0.1 * agent.weighted_load
    sum += penalty(agent)
    if (!common || task.files.length === 0) return sum
    if (hasNodes && covers(agent, labels)) sum += 0.25
    if (isTraining) {
      const asked = task.capabilities?.min_vram_mb ?? 0
      let training = gpu(capabilities) ? 0.75 : 0
      if (asked > 0) training += (capabilities.min_vram_mb ?? 0) >= asked ? 0.75 : -0.5
      if (asked >= 12_288) training += -2 * settings.mesh_training_budget_pressure
      if (covers(agent, trainingLabels)) training += 0.25
      sum += training
    }
    if (phase !== undefined) {
      let shard = world.skill(id, phase) * settings.repo_shard_specialization_weight
      shard -= world.shardFailures(id) * settings.repo_shard_validation_failure_penalty
      if (phase === 'reduce' && world.inCooldown(id)) shard -= settings.repo_reduce_conflict_cooldown_penalty
      sum += shard
    }
    const trust = world.trust(id)
    if (settings.qgate_reputation_routing) {
      const w = settings.qgate_reputation_weight
      let reputation = trust.reliability * w + world.meanSkill(id) * w * 0.5
      if (task.workflow !== undefined) reputation += w * 0.1
      const rollup = world.completionTrust(id) ?? 0.5
      sum += reputation + (rollup < 0.25 ? -10_000 : rollup * 1.5)
    }
    if (settings.attention_enabled) {
      const bound = trust.score + settings.attention_trust_routing_weight * Math.sqrt(0.25 / (trust.outcomes + 1))
      sum += Math.min(Math.max(bound, 0), 2)
    }
    return sum
  }
  const best = (some: readonly RoutableAgent[]) =>
    some.toSorted(
      (a, b) =>
        Number(penalty(b) === 0) - Number(penalty(a) === 0) ||
        Number(a.paused) - Number(b.paused) ||
        score(b) - score(a) ||
        a.id - b.id
    )[0]

  if (task.files.length === 0) {
    const least = best(agents)
    if (least === undefined) return { name: 'default', rule: 'spawn_default', group }
    return { agent: least.id, rule: 'least_loaded', group }
  }
  if (common && settings.attention_enabled && world.random() < settings.routing_exploration_epsilon) {
    const eligible = agents.filter(agent => penalty(agent) === 0 && !agent.paused).toSorted((a, b) => a.id - b.id)
    const any = eligible[Math.floor(world.random() * eligible.length)]
    if (any !== undefined) return { agent: any.id, rule: 'exploration', group }
  }
  const scored = common ? agents : agents.filter(ownLinks)
  let winner = best(scored)
  // An agent that lacks a requirement gets no task while another meets all.
  if (winner !== undefined && penalty(winner) < 0) winner = best(agents)
  if (winner !== undefined) return { agent: winner.id, rule: 'highest_score', group }
  const fittest = best(agents)
  const penaltyOfNew = penaltyOf(task.capabilities ?? {}, world.newAgent)
  if (fittest !== undefined && penalty(fittest) > penaltyOfNew)
    return { agent: fittest.id, rule: 'highest_score', group }
  const fallback = settings.fallback_to_single_agent ? fittest : undefined
  if (group !== null && (world.hasRoom || fallback === undefined))
    return { name: group, rule: 'spawn_for_group', group }
  if (fallback !== undefined) return { agent: fallback.id, rule: 'fallback_single', group }
  return { name: 'general', rule: 'spawn_general', group }
}

function gpu(agent: CapabilityHints): boolean {
  return [agent.gpu_cuda, agent.gpu_metal, agent.gpu_vulkan, agent.gpu_webgpu].includes(true)
}

function penaltyOf(task: CapabilityHints, agent: CapabilityHints): number {
  const flags = ['gpu_cuda', 'gpu_metal', 'gpu_vulkan', 'gpu_webgpu', 'npu', 'visus_eligible', 'multi_modal'] as const
  let sum = 0
  for (const flag of flags) if (task[flag] === true && agent[flag] !== true) sum -= 10_000
  if ((task.min_vram_mb ?? 0) > (agent.min_vram_mb ?? 0)) sum -= 5_000
  if ((task.min_cpu_cores ?? 0) > (agent.cpu_cores ?? agent.min_cpu_cores ?? 0)) sum -= 5_000
  if (task.prefer_gpu_compute === true && !gpu(agent)) sum -= 1_500
  return sum
}
