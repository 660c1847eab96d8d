import type { CapabilityHints } from '@svc/contracts'
import type { TaskToRoute } from '../state/ports.ts'
import { requiresSomething } from './fitness.ts'
import type { RoutingSettings } from './routing-settings.ts'
import { type ShardPhase, shardPhaseOf } from './skill-ledger.ts'

/** Traits of a task that affect its score. */
export interface TaskTraits {
  /** Requirements; null if there is none that an agent could lack. */
  readonly requirements: CapabilityHints | null
  /** Labels that an agent should have. */
  readonly labels: readonly string[]
  readonly phase: ShardPhase | null
  /** True for a training task: it has a label `workload=` or `pool=`. */
  readonly isTraining: boolean
  /** True if the term `remote_nodes` applies. */
  readonly hasRemoteNodes: boolean
  readonly hasWorkflow: boolean
  /** True if a term applies to every agent, so that all agents are compared. */
  readonly everyAgentScores: boolean
}

const NO_LABELS: readonly string[] = []

export function isTrainingLabel(label: string): boolean {
  return label.startsWith('workload=') || label.startsWith('pool=')
}

export function traitsOf(
  settings: RoutingSettings,
  remoteNodes: number,
  hasContributedTerms: boolean,
  task: TaskToRoute
): TaskTraits {
  const { capabilities } = task
  const requirements = capabilities !== undefined && requiresSomething(capabilities) ? capabilities : null
  const labels = labelsOf(task)
  const phase = shardPhaseOf(task.description)
  const isTraining = settings.mesh_training_routing_experimental && labels.some(isTrainingLabel)
  const hasRemoteNodes = settings.mesh_routing_experimental && remoteNodes > 0
  const everyAgentScores =
    hasContributedTerms ||
    (task.files.length > 0 &&
      (settings.qgate_reputation_routing ||
        settings.attention_enabled ||
        phase !== null ||
        isTraining ||
        hasRemoteNodes))
  return {
    requirements,
    labels,
    phase,
    isTraining,
    hasRemoteNodes,
    hasWorkflow: task.workflow !== undefined,
    everyAgentScores
  }
}

function labelsOf({ capabilities, required_labels }: TaskToRoute): readonly string[] {
  const required = capabilities?.labels ?? NO_LABELS
  if (required_labels === undefined || required_labels.length === 0) return required
  return required.length === 0 ? required_labels : [...required, ...required_labels]
}
