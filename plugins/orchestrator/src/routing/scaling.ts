import type { Settings } from '../settings.ts'
import type { AgentLoad, ScalerPort, ScalingDecision, Transferable } from '../state/ports.ts'
import type { HostPressure } from './host-pressure.ts'

/** Settings of the section `[orchestrator]` for scaling. */
export type ScalingSettings = Pick<
  Settings,
  | 'scaling_enabled'
  | 'scaling_threshold'
  | 'scaling_lookback_ticks'
  | 'scaling_profile'
  | 'scaling_cooldown_ms'
  | 'max_spawn_per_tick'
  | 'urgent_rebalance_threshold'
  | 'idle_retirement_ms'
  | 'resource_weight'
  | 'resource_cpu_multiplier'
  | 'resource_mem_multiplier'
  | 'resource_exponent'
  | 'max_agents'
  | 'min_agents'
  | 'mesh_routing_experimental'
>

interface ScalerMemory {
  readonly totals: readonly number[]
  readonly lastGrowth: number
  readonly lastUrgent: number
}

export interface ScalerDependencies {
  /** Read at each tick. */
  readonly settings: () => ScalingSettings
  readonly pressure: () => HostPressure
  /** Returns eight random hexadecimal digits. */
  readonly suffix: () => string
  /** Returns the number of schedulable GPU nodes of the mesh; default: 0. */
  readonly remoteGpuNodes?: () => number
}

/** Factors for the threshold of new agents, and for the idle time before retirement. */
const PROFILES = {
  conservative: { threshold: 1.5, retirement: 0.6 },
  balanced: { threshold: 1, retirement: 1 },
  aggressive: { threshold: 0.7, retirement: 1.5 }
} as const

/** Added to the load if more tasks are queued than the threshold. */
const BACKLOG = 0.5

/** Reduction of the load per GPU node of the mesh: load / (1 + 0.15 nodes). */
const RELIEF_PER_NODE = 0.15

/**
 * Decides how many agents to create or retire. With thr = threshold × profile factor, and n agents:
 *
 * - total = Σ load × (1 + weight × (cpu × cpu factor + memory × memory factor) ^ exponent);
 * - predicted = max(0, last + (last − mean)) over the totals of the last ticks;
 * - load = max(total, predicted), + 0.5 if more than thr tasks are queued;
 * - if load / n × relief ≥ thr, clamp(⌈(load − n × thr) / thr⌉, 1, allowed) agents are created.
 *
 * Source: section 2.13 of the specification.
 */
export class Scaler implements ScalerPort, Transferable {
  readonly #deps: ScalerDependencies
  readonly #totals: number[] = []
  #lastGrowth = Number.NEGATIVE_INFINITY
  #lastUrgent = Number.NEGATIVE_INFINITY

  constructor(deps: ScalerDependencies) {
    this.#deps = deps
  }

  get predictedLoad(): number {
    const last = this.#totals.at(-1)
    if (last === undefined) return 0
    const mean = this.#totals.reduce((sum, total) => sum + total, 0) / this.#totals.length
    return Math.max(0, last + (last - mean))
  }

  get effectiveThreshold(): number {
    const { scaling_threshold, scaling_profile } = this.#deps.settings()
    return scaling_threshold * PROFILES[scaling_profile].threshold
  }

  /** Returns the totals of the last ticks, and the times of the last actions. */
  exportState(): ScalerMemory {
    return { totals: this.#totals, lastGrowth: this.#lastGrowth, lastUrgent: this.#lastUrgent }
  }

  importState(state: unknown): void {
    const { totals, lastGrowth, lastUrgent } = state as ScalerMemory
    this.#totals.push(...totals)
    this.#lastGrowth = lastGrowth
    this.#lastUrgent = lastUrgent
  }

  tick(now: number, agents: readonly AgentLoad[], costCritical: boolean): ScalingDecision {
    const total = this.#total(agents)
    this.#totals.push(total)
    const surplus = this.#totals.length - Math.max(this.#deps.settings().scaling_lookback_ticks, 1)
    if (surplus > 0) this.#totals.splice(0, surplus)
    const isEnabled = this.#deps.settings().scaling_enabled
    return {
      spawn: isEnabled && !costCritical ? this.#grow(now, agents, total) : [],
      retire: isEnabled ? this.#shrink(now, agents, costCritical) : [],
      rebalanceUrgent: this.#isUrgent(now, agents)
    }
  }

  #total(agents: readonly AgentLoad[]): number {
    const { resource_weight, resource_cpu_multiplier, resource_mem_multiplier, resource_exponent } =
      this.#deps.settings()
    const { cpu, memory } = this.#deps.pressure()
    const pressure = cpu * resource_cpu_multiplier + memory * resource_mem_multiplier
    const sum = agents.reduce((load, { weighted_load }) => load + weighted_load, 0)
    return sum * (1 + resource_weight * pressure ** resource_exponent)
  }

  #grow(now: number, agents: readonly AgentLoad[], total: number): readonly string[] {
    const { max_agents, max_spawn_per_tick, scaling_cooldown_ms } = this.#deps.settings()
    const allowed = Math.min(max_spawn_per_tick, max_agents - agents.length)
    if (allowed < 1 || now - this.#lastGrowth < scaling_cooldown_ms) return []
    const threshold = this.effectiveThreshold
    const queued = agents.reduce((sum, agent) => sum + agent.queued, 0)
    const load = Math.max(total, this.predictedLoad) + (queued > threshold ? BACKLOG : 0)
    const nodes = this.#deps.settings().mesh_routing_experimental ? (this.#deps.remoteGpuNodes?.() ?? 0) : 0
    const relief = 1 / (1 + RELIEF_PER_NODE * nodes)
    if ((load / Math.max(agents.length, 1)) * relief < threshold) return []
    const missing = Math.ceil((load - agents.length * threshold) / threshold)
    this.#lastGrowth = now
    const count = Math.min(Math.max(missing, 1), allowed)
    return Array.from({ length: count }, () => `transient-${this.#deps.suffix()}`)
  }

  /** Returns the agents to retire, longest idle first. */
  #shrink(now: number, agents: readonly AgentLoad[], costCritical: boolean): readonly number[] {
    const { idle_retirement_ms, min_agents, scaling_profile } = this.#deps.settings()
    const patience = idle_retirement_ms * PROFILES[scaling_profile].retirement * (costCritical ? 0.5 : 1)
    const idle: { readonly id: number; readonly since: number }[] = []
    for (const { id, dynamic, idle_since_ms: since } of agents)
      if (dynamic && since !== null && now - since > patience) idle.push({ id, since })
    idle.sort((a, b) => a.since - b.since || a.id - b.id)
    return idle.slice(0, Math.max(agents.length - min_agents, 0)).map(({ id }) => id)
  }

  #isUrgent(now: number, agents: readonly AgentLoad[]): boolean {
    const { urgent_rebalance_threshold: threshold, scaling_cooldown_ms } = this.#deps.settings()
    if (threshold === 0 || agents.length < 2 || now - this.#lastUrgent < scaling_cooldown_ms) return false
    if (!agents.some(({ urgent }) => urgent > threshold)) return false
    this.#lastUrgent = now
    return true
  }
}
