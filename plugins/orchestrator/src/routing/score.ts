import type { CapabilityHints, RoutingExplanation } from '@svc/contracts'
import type { RoutingWorld } from '../state/ports.ts'
import { hasGpu, type Lack, penaltyOf } from './fitness.ts'
import type { RoutingSettings } from './routing-settings.ts'
import { type SkillLedger, UNKNOWN_RELIABILITY } from './skill-ledger.ts'
import { isTrainingLabel, type TaskTraits } from './task-traits.ts'

export type Term = RoutingExplanation['candidates'][number]['terms'][number]

/** Fixed points from the table of the routing score. */
const POINTS = {
  ownedFile: 10,
  groupAgent: 15,
  namedAsGroup: 5,
  load: -0.1,
  remote: 0.25,
  trainingFits: 0.75,
  trainingDoesNotFit: -0.5,
  trainingLabel: 0.25,
  trainingPressure: -2,
  distrusted: -10_000
} as const

/** Minimum memory request in MiB to which the pressure on the training budget applies. */
const LARGE_TRAINING_MB = 12_288

/** An agent, and its relation to the files of the task. */
export interface AgentCandidate {
  readonly id: number
  readonly capabilities: CapabilityHints
  readonly load: number
  readonly ownedFiles: number
  readonly isGroupAgent: boolean
  readonly isNamedAsGroup: boolean
}

export interface ScoreWorld {
  readonly settings: RoutingSettings
  readonly world: RoutingWorld
  readonly skills: SkillLedger
}

/**
 * Returns the fitness of an agent for a task, in points: the sum of the protocol's terms (section "Routing score"), in
 * the order of its table. Adds each term that applies to `terms`, if passed.
 */
export function scoreOf(context: ScoreWorld, traits: TaskTraits, agent: AgentCandidate, terms?: Term[]): number {
  let score = filesScore(agent, terms) + POINTS.load * agent.load
  // `+ 0` turns -0 into 0.
  terms?.push({
    term: 'load',
    value: POINTS.load * agent.load + 0,
    because: `the agent's load is ${round(agent.load)}`
  })
  if (traits.requirements !== null) score += capabilityScore(traits.requirements, agent, terms)
  if (!traits.everyAgentScores) return score
  if (traits.hasRemoteNodes) score += remoteScore(traits, agent, terms)
  if (traits.isTraining) score += trainingScore(traits, agent, context.settings, terms)
  if (traits.phase !== null) score += shardScore(traits.phase, agent, context, terms)
  if (context.settings.qgate_reputation_routing) score += reputationScore(traits, agent, context, terms)
  if (context.settings.attention_enabled) score += attentionScore(agent, context, terms)
  return score
}

function filesScore(agent: AgentCandidate, terms: Term[] | undefined): number {
  const { ownedFiles, isGroupAgent, isNamedAsGroup } = agent
  let score = 0
  if (ownedFiles > 0) {
    const value = POINTS.ownedFile * ownedFiles
    score += value
    terms?.push({ term: 'owned_files', value, because: `the agent owns ${counted(ownedFiles, 'file')} of the task` })
  }
  if (isGroupAgent) {
    score += POINTS.groupAgent
    terms?.push({ term: 'group_agent', value: POINTS.groupAgent, because: 'the agent serves the group of a file' })
  }
  if (isNamedAsGroup) {
    score += POINTS.namedAsGroup
    terms?.push({
      term: 'group_name',
      value: POINTS.namedAsGroup,
      because: 'the agent has the name of the group of a file'
    })
  }
  return score
}

function capabilityScore(requirements: CapabilityHints, agent: AgentCandidate, terms: Term[] | undefined): number {
  if (terms === undefined) return penaltyOf(requirements, agent.capabilities)
  const lacks: Lack[] = []
  const penalty = penaltyOf(requirements, agent.capabilities, lacks)
  for (const { requirement, value, because } of lacks) terms.push({ term: `missing_${requirement}`, value, because })
  return penalty
}

function remoteScore({ labels }: TaskTraits, agent: AgentCandidate, terms: Term[] | undefined): number {
  if (!covers(agent, labels)) return 0
  const because = 'mesh nodes are available, and the agent has every required label'
  terms?.push({ term: 'remote_nodes', value: POINTS.remote, because })
  return POINTS.remote
}

function trainingScore(
  { labels, requirements }: TaskTraits,
  agent: AgentCandidate,
  settings: RoutingSettings,
  terms: Term[] | undefined
): number {
  let score = 0
  if (hasGpu(agent.capabilities)) {
    score += POINTS.trainingFits
    terms?.push({
      term: 'training_gpu',
      value: POINTS.trainingFits,
      because: 'the task is a training, and the agent has a GPU'
    })
  }
  const required = requirements?.min_vram_mb ?? 0
  if (required > 0) {
    const has = agent.capabilities.min_vram_mb ?? 0
    const value = has >= required ? POINTS.trainingFits : POINTS.trainingDoesNotFit
    score += value
    const because = `the training requires ${required} MiB; the agent has ${has} MiB`
    terms?.push({ term: 'training_vram', value, because })
  }
  const pressure = Math.min(Math.max(settings.mesh_training_budget_pressure, 0), 1)
  if (required >= LARGE_TRAINING_MB && pressure > 0) {
    const value = POINTS.trainingPressure * pressure
    score += value
    const because = `the training is large, and the pressure on the training budget is ${round(pressure)}`
    terms?.push({ term: 'training_pressure', value, because })
  }
  if (covers(agent, labels.filter(isTrainingLabel))) {
    score += POINTS.trainingLabel
    const because = 'the agent belongs to the required workload or pool'
    terms?.push({ term: 'training_label', value: POINTS.trainingLabel, because })
  }
  return score
}

function shardScore(
  phase: NonNullable<TaskTraits['phase']>,
  { id }: AgentCandidate,
  { settings, skills, world }: ScoreWorld,
  terms: Term[] | undefined
): number {
  const reliability = skills.reliability(id, phase)
  let score = reliability * settings.repo_shard_specialization_weight
  terms?.push({
    term: 'shard_skill',
    value: score,
    because: `the agent's reliability at ${phase} is ${round(reliability)}`
  })
  const failures = skills.shardFailures(id)
  if (failures > 0) {
    const value = -failures * settings.repo_shard_validation_failure_penalty
    score += value
    terms?.push({
      term: 'shard_failures',
      value,
      because: `${counted(failures, 'shard')} of the agent failed validation`
    })
  }
  if (phase === 'reduce' && skills.isCoolingDown(id, world.now(), settings.repo_reduce_conflict_cooldown_ms)) {
    const value = -settings.repo_reduce_conflict_cooldown_penalty
    score += value
    terms?.push({ term: 'reduce_cooldown', value, because: 'the agent recently had a merge conflict' })
  }
  return score
}

function reputationScore(
  { hasWorkflow }: TaskTraits,
  { id }: AgentCandidate,
  { settings, skills, world }: ScoreWorld,
  terms: Term[] | undefined
): number {
  const weight = settings.qgate_reputation_weight
  const { reliability } = world.trust(id)
  // Without outcomes, the trust is one half.
  const trust = world.completionTrust(id) ?? UNKNOWN_RELIABILITY
  const skill = skills.meanReliability(id)
  let score = reliability * weight + skill * weight * 0.5
  terms?.push(
    { term: 'reliability', value: reliability * weight, because: `the agent's reliability is ${round(reliability)}` },
    {
      term: 'skills',
      value: skill * weight * 0.5,
      because: `the mean reliability of the agent's skills is ${round(skill)}`
    }
  )
  if (hasWorkflow) {
    score += weight * 0.1
    terms?.push({ term: 'workflow', value: weight * 0.1, because: 'the task is part of a workflow' })
  }
  const floor = settings.trust_task_completion_floor
  const isTrusted = trust >= floor
  const value = isTrusted ? trust * settings.trust_task_completion_weight : POINTS.distrusted
  const because = `trust in completing tasks is ${round(trust)}, ${isTrusted ? 'not ' : ''}below the floor of ${round(floor)}`
  terms?.push({ term: 'trust', value, because })
  return score + value
}

/**
 * Returns an upper confidence bound, so that agents with few outcomes are chosen more often. The score is exponentially
 * weighted, so its variance is estimated as that of a fair coin over n outcomes: 0.25 / (n + 1).
 */
function attentionScore({ id }: AgentCandidate, { settings, world }: ScoreWorld, terms: Term[] | undefined): number {
  const { score, outcomes } = world.trust(id)
  const deviation = Math.sqrt(0.25 / (outcomes + 1))
  const bound = Math.min(Math.max(score + settings.attention_trust_routing_weight * deviation, 0), 2)
  const because = `trust in the agent is ${round(score)} after ${counted(outcomes, 'outcome')}`
  terms?.push({ term: 'attention', value: bound, because })
  return bound
}

function covers({ capabilities }: AgentCandidate, labels: readonly string[]): boolean {
  for (const label of labels) if (capabilities.labels?.includes(label) !== true) return false
  return true
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
