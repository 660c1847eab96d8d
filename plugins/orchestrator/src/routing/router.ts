import type { CapabilityHints, RoutingExplanation, RoutingTerm } from '@svc/contracts'
import type {
  Random,
  RoutableAgent,
  RouteDecision,
  RouterPort,
  RoutingRule,
  RoutingWorld,
  TaskToRoute,
  Transferable
} from '../state/ports.ts'
import type { ContributedTerms } from './contributed-terms.ts'
import { penaltyOf, signatureOf } from './fitness.ts'
import type { AffinityGroups } from './groups.ts'
import { type AgentEntry, LoadHeap } from './load-heap.ts'
import type { RoutingSettings } from './routing-settings.ts'
import { type ScoreWorld, scoreOf, type Term } from './score.ts'
import { SkillLedger } from './skill-ledger.ts'
import { type TaskTraits, traitsOf } from './task-traits.ts'

export interface RouterDependencies {
  readonly world: RoutingWorld
  readonly groups: AffinityGroups
  /** Read for each decision. */
  readonly settings: () => RoutingSettings
  /** Random numbers in [0, 1), used only if attention is enabled. */
  readonly random: Random
  /** Capabilities of a new agent. */
  readonly newAgent: CapabilityHints
  /** Terms contributed by plugins; default: none. */
  readonly terms?: ContributedTerms
  /** Returns the number of schedulable mesh nodes; default: 0. */
  readonly remoteNodes?: () => number
}

/** A task that is being routed. */
interface Route {
  readonly traits: TaskTraits
  /** Group of the first file that has one; null if none has. */
  readonly group: string | null
}

/** Contributed terms that apply to a task. */
interface Contributed {
  readonly scorer: ContributedTerms
  readonly terms: readonly RoutingTerm[]
  readonly task: TaskToRoute
}

/**
 * Decides which agent gets a task.
 *
 * 1. The agent requested by name.
 * 2. For a task without files, the least loaded agent that meets the requirements.
 * 3. The candidate with the best {@link scoreOf}. Candidates own a file of the task, or belong to its group. All agents
 *    are compared if the best candidate lacks a requirement, or if a term applies to every agent.
 * 4. Without candidates, by the settings: a new agent for the group, the least loaded agent, or a new general agent.
 *
 * Agents that meet all requirements rank first, then unpaused ones, then by score, then by lower id. Agents that are not
 * candidates and have equal capabilities differ only in load, so only the least loaded one of each such class is
 * examined. A decision costs O(files + classes), a change of load O(log agents).
 */
export class Router implements RouterPort, Transferable {
  readonly #deps: RouterDependencies
  #settings: RoutingSettings
  readonly #skills = new SkillLedger()
  #context: ScoreWorld
  readonly #agents = new Map<number, AgentEntry>()
  readonly #byName = new Map<string, AgentEntry[]>()
  readonly #classes = new Map<string, LoadHeap>()
  #decision = 0
  /** Candidates for the current task, found by its files. */
  #linked: AgentEntry[] = []
  /** Contributed terms for the current task; null if there are none, the common and fast case. */
  #contributed: Contributed | null = null

  constructor(deps: RouterDependencies) {
    this.#deps = deps
    this.#settings = deps.settings()
    this.#context = this.#contextOf(this.#settings)
  }

  /** Returns the outcomes of agents. */
  exportState(): unknown {
    return this.#skills.exportState()
  }

  importState(state: unknown): void {
    this.#skills.importState(state)
  }

  agentAdded(agent: RoutableAgent): void {
    this.agentRemoved(agent.id)
    const signature = signatureOf(agent.capabilities)
    let heap = this.#classes.get(signature)
    if (heap === undefined) this.#classes.set(signature, (heap = new LoadHeap()))
    const entry: AgentEntry = {
      id: agent.id,
      name: agent.name,
      capabilities: agent.capabilities,
      heap,
      load: agent.weighted_load,
      isPaused: agent.paused,
      position: 0,
      decision: 0,
      ownedFiles: 0,
      isGroupAgent: false,
      isNamedAsGroup: false,
      penalty: 0,
      score: 0
    }
    this.#agents.set(entry.id, entry)
    heap.add(entry)
    const namesakes = this.#byName.get(entry.name)
    if (namesakes === undefined) this.#byName.set(entry.name, [entry])
    else namesakes.push(entry)
  }

  agentRemoved(agent: number): void {
    const entry = this.#agents.get(agent)
    if (entry === undefined) return
    this.#agents.delete(agent)
    this.#skills.forget(agent)
    entry.heap.remove(entry)
    if (entry.heap.size === 0) this.#classes.delete(signatureOf(entry.capabilities))
    const namesakes = this.#byName.get(entry.name)?.filter(other => other !== entry) ?? []
    if (namesakes.length === 0) this.#byName.delete(entry.name)
    else this.#byName.set(entry.name, namesakes)
  }

  loadChanged(agent: number, weightedLoad: number): void {
    const entry = this.#agents.get(agent)
    if (entry === undefined || entry.load === weightedLoad) return
    entry.load = weightedLoad
    entry.heap.moved(entry)
  }

  pausedChanged(agent: number, paused: boolean): void {
    const entry = this.#agents.get(agent)
    if (entry === undefined || entry.isPaused === paused) return
    entry.isPaused = paused
    entry.heap.moved(entry)
  }

  shardOutcome(agent: number, outcome: 'shard_validate' | 'reduce_conflict'): void {
    if (!this.#agents.has(agent)) return
    if (outcome === 'shard_validate') this.#skills.shardFailed(agent)
    else this.#skills.conflicted(agent, this.#deps.world.now())
  }

  skillOutcome(agent: number, skill: string, success: boolean): void {
    if (this.#agents.has(agent)) this.#skills.outcome(agent, skill, success)
  }

  route(task: TaskToRoute): RouteDecision {
    const { traits, group } = this.#begin(task)
    if (task.agent_name !== undefined) return this.#named(task.agent_name, group)
    if (task.files.length > 0) return this.#byScore(traits, group) ?? this.#unscored(traits, group)
    const scored = this.#contributed === null ? null : this.#byScore(traits, group)
    if (scored !== null) return scored
    const best = this.#leastLoaded(traits)
    return best === null ? spawn('spawn_default', 'default', group) : choose('least_loaded', best, group)
  }

  explain(task: TaskToRoute, limit: number): RoutingExplanation['candidates'] {
    const { traits } = this.#begin(task)
    const linked = this.#linked
    const best = this.#best(linked, traits)
    const isDecidedByLinks = best !== null && best.penalty === 0 && !traits.everyAgentScores
    const compared = isDecidedByLinks ? [...linked] : [...this.#agents.values()]
    for (const entry of compared) this.#rank(entry, traits)
    compared.sort((a, b) => (isBetter(a, b) ? -1 : 1))
    return compared.slice(0, limit).map(entry => {
      const terms: Term[] = []
      const score = scoreOf(this.#context, traits, entry, terms) + this.#contributedScore(entry, terms)
      if (entry.isPaused) terms.push({ term: 'paused', value: 0, because: 'the agent is paused, so others rank first' })
      return { agent_id: entry.id, agent_name: entry.name, score, terms }
    })
  }

  #contextOf(settings: RoutingSettings): ScoreWorld {
    return { settings, world: this.#deps.world, skills: this.#skills }
  }

  #named(name: string, group: string | null): RouteDecision {
    let oldest: AgentEntry | null = null
    for (const entry of this.#byName.get(name) ?? []) if (oldest === null || entry.id < oldest.id) oldest = entry
    return oldest === null ? spawn('target_agent', name, group) : choose('target_agent', oldest, group)
  }

  #byScore(traits: TaskTraits, group: string | null): RouteDecision | null {
    if (traits.everyAgentScores) {
      const explored = this.#settings.attention_enabled ? this.#explored(traits) : null
      if (explored !== null) return choose('exploration', explored, group)
      const best = this.#best(this.#agents.values(), traits)
      return best === null ? null : choose('highest_score', best, group)
    }
    const best = this.#best(this.#linked, traits)
    if (traits.requirements === null || best?.penalty === 0)
      return best === null ? null : choose('highest_score', best, group)
    const fittest = this.#leastLoaded(traits)
    if (fittest === null) return null
    if (best !== null) return choose('highest_score', isBetter(best, fittest) ? best : fittest, group)
    // No candidate: create an agent, unless an existing one would be fitter.
    const isFitter = fittest.penalty > penaltyOf(traits.requirements, this.#deps.newAgent)
    return isFitter ? choose('highest_score', fittest, group) : null
  }

  #unscored(traits: TaskTraits, group: string | null): RouteDecision {
    const fallback = this.#settings.fallback_to_single_agent ? this.#leastLoaded(traits) : null
    if (group !== null && (fallback === null || this.#deps.world.canSpawn()))
      return spawn('spawn_for_group', group, group)
    return fallback === null ? spawn('spawn_general', 'general', group) : choose('fallback_single', fallback, group)
  }

  /** Returns the best agent by fitness and load; only the first of each class needs to be compared. */
  #leastLoaded(traits: TaskTraits): AgentEntry | null {
    let best: AgentEntry | null = null
    for (const { first } of this.#classes.values()) {
      if (first === undefined) continue
      this.#rank(first, traits)
      if (best === null || isBetter(first, best)) best = first
    }
    return best
  }

  #best(entries: Iterable<AgentEntry>, traits: TaskTraits): AgentEntry | null {
    let best: AgentEntry | null = null
    for (const entry of entries) {
      this.#rank(entry, traits)
      if (best === null || isBetter(entry, best)) best = entry
    }
    return best
  }

  /** Picks a random capable agent with a small probability, to learn its reliability; otherwise null. */
  #explored(traits: TaskTraits): AgentEntry | null {
    const { random } = this.#deps
    if (random() >= this.#settings.routing_exploration_epsilon) return null
    const eligible: AgentEntry[] = []
    for (const entry of this.#agents.values()) {
      this.#rank(entry, traits)
      if (entry.penalty === 0 && !entry.isPaused) eligible.push(entry)
    }
    eligible.sort((a, b) => a.id - b.id)
    return eligible[Math.floor(random() * eligible.length)] ?? null
  }

  #rank(entry: AgentEntry, traits: TaskTraits): void {
    this.#note(entry)
    entry.penalty = traits.requirements === null ? 0 : penaltyOf(traits.requirements, entry.capabilities)
    entry.score = scoreOf(this.#context, traits, entry)
    if (this.#contributed !== null) entry.score += this.#contributedScore(entry)
  }

  #contributedScore(entry: AgentEntry, explained?: Term[]): number {
    if (this.#contributed === null) return 0
    const { scorer, terms, task } = this.#contributed
    return scorer.score(terms, task, entry, explained)
  }

  /** Starts a decision: finds the candidates, the group and the traits of a task. */
  #begin(task: TaskToRoute): Route {
    this.#decision++
    const settings = this.#deps.settings()
    if (settings !== this.#settings) {
      this.#settings = settings
      this.#context = this.#contextOf(settings)
    }
    if (this.#linked.length > 0) this.#linked = []
    const { world, groups, remoteNodes, terms: scorer } = this.#deps
    let first: string | null = null
    let last: string | null = null
    for (const { path } of task.files) {
      const owner = world.fileOwner(path)
      const entry = owner === null ? undefined : this.#agents.get(owner)
      if (entry !== undefined) this.#link(entry).ownedFiles++
      const group = groups.of(path)
      // Most tasks have files of only one group.
      if (group === null || group === last) continue
      last = group
      first ??= group
      this.#linkGroup(group)
    }
    const nodes = settings.mesh_routing_experimental ? (remoteNodes?.() ?? 0) : 0
    const contributed = scorer === undefined || scorer.isEmpty ? null : contributedTo(task, scorer)
    this.#contributed = contributed
    // A contributed term may apply to any agent, so all are compared.
    return { traits: traitsOf(this.#settings, nodes, contributed !== null, task), group: first }
  }

  #linkGroup(group: string): void {
    const agent = this.#deps.world.groupAgent(group)
    const entry = agent === null ? undefined : this.#agents.get(agent)
    if (entry !== undefined) this.#link(entry).isGroupAgent = true
    for (const namesake of this.#byName.get(group) ?? []) this.#link(namesake).isNamedAsGroup = true
  }

  #link(entry: AgentEntry): AgentEntry {
    if (entry.decision !== this.#decision) this.#linked.push(this.#note(entry))
    return entry
  }

  /** Clears an agent's fields of an earlier decision. Returns the agent. */
  #note(entry: AgentEntry): AgentEntry {
    if (entry.decision === this.#decision) return entry
    entry.decision = this.#decision
    entry.ownedFiles = 0
    entry.isGroupAgent = false
    entry.isNamedAsGroup = false
    return entry
  }
}

function contributedTo(task: TaskToRoute, scorer: ContributedTerms): Contributed | null {
  const terms = scorer.for(task)
  return terms.length === 0 ? null : { scorer, terms, task }
}

/** Returns true if `a` is better than `b` for the current task. Both must be ranked. */
function isBetter(a: AgentEntry, b: AgentEntry): boolean {
  const isFit = a.penalty === 0
  if (isFit !== (b.penalty === 0)) return isFit
  if (a.isPaused !== b.isPaused) return b.isPaused
  return a.score > b.score || (a.score === b.score && a.id < b.id)
}

function choose(rule: RoutingRule, { id }: AgentEntry, group: string | null): RouteDecision {
  return { kind: 'agent', agent: id, rule, group }
}

function spawn(rule: RoutingRule, name: string, group: string | null): RouteDecision {
  return { kind: 'spawn', name, dynamic: rule === 'spawn_general', rule, group, reason: 'route_spawn' }
}
