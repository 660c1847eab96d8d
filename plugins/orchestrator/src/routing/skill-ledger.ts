import type { Transferable } from '../state/ports.ts'

/** Phases of work on a sharded repository, as named in a task's description. */
export type ShardPhase = 'shard_gen' | 'shard_validate' | 'reduce'

/** Assumed reliability before the first outcome. */
export const UNKNOWN_RELIABILITY = 0.5

const PHASES: readonly (readonly [marker: string, phase: ShardPhase])[] = [
  ['[PHASE:SHARD_GEN]', 'shard_gen'],
  ['[PHASE:SHARD_VALIDATE]', 'shard_validate'],
  ['[PHASE:REDUCE]', 'reduce']
]

/** Returns the phase named in a description. */
export function shardPhaseOf(description: string): ShardPhase | null {
  if (!description.includes('[PHASE:')) return null
  for (const [marker, phase] of PHASES) if (description.includes(marker)) return phase
  return null
}

interface Record {
  readonly skills: Map<string, { successes: number; total: number }>
  shardFailures: number
  /** Time of the last conflict, Unix milliseconds. */
  lastConflict: number | null
}

/** Outcomes of agents by skill, as seen by this process. */
export class SkillLedger implements Transferable {
  readonly #agents = new Map<number, Record>()

  exportState(): ReadonlyMap<number, Record> {
    return this.#agents
  }

  importState(state: unknown): void {
    for (const [agent, record] of state as ReadonlyMap<number, Record>) this.#agents.set(agent, record)
  }

  outcome(agent: number, skill: string, success: boolean): void {
    const { skills } = this.#of(agent)
    const tally = skills.get(skill) ?? { successes: 0, total: 0 }
    tally.total++
    if (success) tally.successes++
    skills.set(skill, tally)
  }

  shardFailed(agent: number): void {
    this.#of(agent).shardFailures++
  }

  conflicted(agent: number, now: number): void {
    this.#of(agent).lastConflict = now
  }

  forget(agent: number): void {
    this.#agents.delete(agent)
  }

  /** Returns (successes + 1) / (total + 2), Laplace's rule of succession. */
  reliability(agent: number, skill: string): number {
    const tally = this.#agents.get(agent)?.skills.get(skill)
    return tally === undefined ? UNKNOWN_RELIABILITY : (tally.successes + 1) / (tally.total + 2)
  }

  /** Returns the mean over all skills with outcomes. */
  meanReliability(agent: number): number {
    const skills = this.#agents.get(agent)?.skills
    if (skills === undefined || skills.size === 0) return UNKNOWN_RELIABILITY
    let sum = 0
    for (const { successes, total } of skills.values()) sum += (successes + 1) / (total + 2)
    return sum / skills.size
  }

  shardFailures(agent: number): number {
    return this.#agents.get(agent)?.shardFailures ?? 0
  }

  /** Returns true if the agent had a merge conflict between shards less than `cooldownMs` ago. */
  isCoolingDown(agent: number, now: number, cooldownMs: number): boolean {
    const at = this.#agents.get(agent)?.lastConflict ?? null
    return at !== null && now - at < cooldownMs
  }

  #of(agent: number): Record {
    let record = this.#agents.get(agent)
    if (record === undefined) {
      record = { skills: new Map(), shardFailures: 0, lastConflict: null }
      this.#agents.set(agent, record)
    }
    return record
  }
}
