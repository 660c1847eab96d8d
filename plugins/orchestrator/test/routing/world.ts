import type { CapabilityHints, RemoteNode, TrustView } from '@svc/contracts'
import { AffinityGroups, RemoteNodes, Router, type RoutingSettings } from '#routing'
import type { RoutableAgent, TaskToRoute } from '#state'

export const DEFAULTS: RoutingSettings = {
  fallback_to_single_agent: true,
  qgate_reputation_routing: false,
  qgate_reputation_weight: 1,
  repo_shard_specialization_weight: 1.5,
  repo_shard_validation_failure_penalty: 0.8,
  repo_reduce_conflict_cooldown_penalty: 2.5,
  repo_reduce_conflict_cooldown_ms: 300_000,
  attention_enabled: false,
  attention_trust_routing_weight: 2,
  routing_exploration_epsilon: 0.05,
  trust_task_completion_floor: 0.25,
  trust_task_completion_weight: 1.5,
  mesh_routing_experimental: false,
  mesh_training_routing_experimental: false,
  mesh_training_budget_pressure: 0
}

/** Groups `a` and `b`, of the files below `a/` and `b/`; other files have none. */
export const GROUPS = [
  { name: 'a', patterns: ['a/**'] },
  { name: 'b', patterns: ['b/**'] }
]

/** State that the router queries, filled by a test. */
export class World {
  readonly owners = new Map<string, number>()
  readonly groupAgents = new Map<string, number>()
  readonly trusts = new Map<
    number,
    { readonly score: number; readonly outcomes: number; readonly reliability: number; readonly rollup?: number }
  >()
  hasRoom = true
  time = 1_000_000

  fileOwner(path: string): number | null {
    return this.owners.get(path) ?? null
  }

  groupAgent(group: string): number | null {
    return this.groupAgents.get(group) ?? null
  }

  trust(agent: number): TrustView {
    const { score, outcomes, reliability } = this.trusts.get(agent) ?? { score: 0.5, outcomes: 0, reliability: 0.5 }
    return { agent_id: agent, tier: 'Provisional', overridden: false, score, outcomes, reliability }
  }

  completionTrust(agent: number): number | null {
    return this.trusts.get(agent)?.rollup ?? null
  }

  canSpawn(): boolean {
    return this.hasRoom
  }

  now(): number {
    return this.time
  }
}

export interface Opened {
  readonly world: World
  readonly router: Router
  /** Read for each decision. */
  readonly settings: Mutable<RoutingSettings>
}

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

export function openRouter(
  options: {
    readonly settings?: Partial<RoutingSettings>
    readonly nodes?: readonly RemoteNode[]
    readonly random?: () => number
    readonly newAgent?: CapabilityHints
    readonly world?: World
  } = {}
): Opened {
  const world = options.world ?? new World()
  const settings = { ...DEFAULTS, ...options.settings }
  const nodes = new RemoteNodes()
  nodes.set('test', options.nodes ?? [])
  const router = new Router({
    world,
    groups: new AffinityGroups(GROUPS),
    settings: () => settings,
    random: options.random ?? (() => 0.99),
    newAgent: options.newAgent ?? {},
    remoteNodes: () => nodes.schedulable
  })
  return { world, router, settings }
}

export function agent(id: number, over: Partial<RoutableAgent> = {}): RoutableAgent {
  return { id, name: `agent-${id}`, dynamic: false, paused: false, capabilities: {}, weighted_load: 0, ...over }
}

export function task(files: readonly string[], over: Partial<TaskToRoute> = {}): TaskToRoute {
  return {
    description: 'Do it',
    files: files.map(path => ({ path, access: 'write' })),
    capabilities: undefined,
    agent_name: undefined,
    required_labels: undefined,
    active_skill: undefined,
    workflow: undefined,
    ...over
  }
}

export function node(over: Partial<RemoteNode> = {}): RemoteNode {
  return {
    node_id: 'n1',
    capabilities: {},
    labels: [],
    has_gpu: false,
    maintenance: false,
    quarantined: false,
    heartbeat_stale: false,
    ...over
  }
}
