import { createHash } from 'node:crypto'
import { type AgentBudget, agentLabel, type BudgetSignal, type CostRecord, orchestrationErrors } from '@svc/contracts'
import type { SvcError } from '@svc/plugin-sdk'
import type { Settings } from '../settings.ts'
import type { BudgetPort, Clock, Transferable } from '../state/ports.ts'

export type BudgetSettings = Pick<Settings, 'agent_max_tokens' | 'agent_max_cost_usd' | 'tenant_max_cost_usd'>

const TOKEN_ALERT = 0.8
const COST_ALERT = 0.9
/** Maximum US dollars since the last completed task; above it, an agent counts as being in a loop. */
const DOOM_LOOP_USD = 2
/** Tool calls without a completed task that suggest a loop. */
const DOOM_LOOP_CALLS = 25
/** Compared outputs, compared bytes of each, and the number of equal outputs that halts an agent above a spending limit. */
const LAST_OUTPUTS = 5
const OUTPUT_BYTES = 512
const HALT_REPEATS = 3
const HALT_USD = 0.5
/** Maximum sessions and costs in memory. */
const MAX_SESSIONS = 1_000
const MAX_COSTS = 1_000

interface Spending {
  tokens: number
  cost: number
}

interface Account extends Spending {
  /** Token limit; null if the setting applies. */
  max_tokens: number | null
  max_cost: number | null
  /** US dollars since the last completed task. */
  since_completion: number
}

/** Evidence of a loop; not persisted. */
interface Activity {
  calls: number
  readonly outputs: string[]
  repeats: number
}

interface BudgetMemory {
  readonly activity: ReadonlyMap<number, Activity>
  readonly costs: readonly TimedCost[]
}

export type TimedCost = CostRecord & { readonly timestamp_ms: number }

/** Spending of agents, tenants and sessions. Records are `budget/agent:ID`, `budget/tenant:NAME` and `budget/session:NAME`. */
export class BudgetLedger implements BudgetPort, Transferable {
  readonly #settings: () => BudgetSettings
  readonly #now: Clock
  readonly #agents = new Map<number, Account>()
  readonly #tenants = new Map<string, Spending>()
  /** Spending of sessions, the last charged last. */
  readonly #sessions = new Map<string, Spending>()
  readonly #activity = new Map<number, Activity>()
  readonly #costs: TimedCost[] = []

  constructor(settings: () => BudgetSettings, now: Clock) {
    this.#settings = settings
    this.#now = now
  }

  of(agent: number): AgentBudget {
    const { tokens = 0, cost = 0 } = this.#agents.get(agent) ?? {}
    return {
      agent_id: agent,
      max_tokens: this.#maxTokens(agent),
      max_cost_usd: this.#maxCost(agent),
      tokens_used: tokens,
      cost_usd: cost,
      token_alert: TOKEN_ALERT,
      cost_alert: COST_ALERT,
      signal: this.signal(agent)
    }
  }

  /** Returns the budget of every agent with spending or separate limits, by id. */
  all(): readonly AgentBudget[] {
    return [...this.#agents.keys()].sort((a, b) => a - b).map(agent => this.of(agent))
  }

  set(agent: number, limits: { readonly max_tokens?: number; readonly max_cost_usd?: number }): AgentBudget {
    const account = this.#account(agent)
    if (limits.max_tokens !== undefined) account.max_tokens = limits.max_tokens
    if (limits.max_cost_usd !== undefined) account.max_cost = limits.max_cost_usd
    return this.of(agent)
  }

  admit(agent: number, tenant: string | undefined, estimatedTokens: number): BudgetSignal {
    const limit = this.#settings().tenant_max_cost_usd
    if (tenant !== undefined && limit !== undefined) {
      const spent = this.#tenants.get(tenant)?.cost ?? 0
      if (spent >= limit) throw exceeded(`tenant ${tenant} has spent ${usd(spent)} of ${usd(limit)}`)
    }
    const account = this.#agents.get(agent)
    const spending = account?.since_completion ?? 0
    if (spending > DOOM_LOOP_USD) {
      throw orchestrationErrors.create(
        'ORC_DOOM_LOOP',
        `Doom loop detected: ${agentLabel(agent)} has spent ${usd(spending)} since its last completed task; the limit is ${usd(DOOM_LOOP_USD)}`,
        { hint: 'complete one of its tasks, or pass the work to another agent' }
      )
    }
    const [used, max] = [account?.tokens ?? 0, this.#maxTokens(agent)]
    if (used + estimatedTokens > max) {
      const rest = Math.max(0, max - used)
      throw exceeded(`the task needs about ${estimatedTokens} tokens; ${agentLabel(agent)} has ${rest} left`)
    }
    const signal = this.signal(agent)
    if (signal === 'CostExceeded' || signal === 'Critical') throw this.#spent(agent, signal)
    return signal
  }

  /** Returns an agent's signal: the first of `BudgetSignal` that applies. */
  signal(agent: number): BudgetSignal {
    const account = this.#agents.get(agent)
    const { tokens, cost } = account ?? { tokens: 0, cost: 0 }
    const [maxTokens, maxCost] = [this.#maxTokens(agent), this.#maxCost(agent)]
    if (cost >= maxCost) return 'CostExceeded'
    if (tokens >= maxTokens) return 'Critical'
    if (tokens >= TOKEN_ALERT * maxTokens || cost >= COST_ALERT * maxCost) return 'HighLoad'
    const activity = this.#activity.get(agent)
    if (activity === undefined) return 'Normal'
    if (activity.repeats >= HALT_REPEATS && (account?.since_completion ?? 0) > HALT_USD) return 'HaltAgent'
    return activity.calls >= DOOM_LOOP_CALLS ? 'DoomLoopSuspect' : 'Normal'
  }

  record(cost: CostRecord): { readonly signal: BudgetSignal; readonly keys: readonly string[] } {
    const tokens = cost.input_tokens + cost.output_tokens
    const account = this.#account(cost.agent_id)
    charge(account, tokens, cost.cost_usd)
    account.since_completion += cost.cost_usd
    const keys = [`agent:${cost.agent_id}`]
    if (cost.tenant_id !== undefined) {
      charge(entry(this.#tenants, cost.tenant_id), tokens, cost.cost_usd)
      keys.push(`tenant:${cost.tenant_id}`)
    }
    if (cost.session_id !== undefined) {
      this.#chargeSession(cost.session_id, tokens, cost.cost_usd, keys)
      keys.push(`session:${cost.session_id}`)
    }
    this.#costs.push({ ...cost, timestamp_ms: this.#now() })
    if (this.#costs.length > MAX_COSTS) this.#costs.splice(0, this.#costs.length - MAX_COSTS)
    return { signal: this.signal(cost.agent_id), keys }
  }

  /**
   * Records a tool call and its output. Outputs with the same last 512 bytes count as equal: `repeats` is how many of
   * the last five outputs equal this one, including it.
   */
  toolCalled(agent: number, output: string): BudgetSignal {
    const activity = entryOf(this.#activity, agent, () => ({ calls: 0, outputs: [], repeats: 0 }))
    activity.calls += 1
    const print = fingerprint(output)
    activity.outputs.push(print)
    if (activity.outputs.length > LAST_OUTPUTS) activity.outputs.shift()
    activity.repeats = activity.outputs.filter(each => each === print).length
    return this.signal(agent)
  }

  /** Returns how many of an agent's last five outputs equal the last one. At two, a `budget_alert` is emitted. */
  outputRepeats(agent: number): number {
    return this.#activity.get(agent)?.repeats ?? 0
  }

  completed(agent: number): readonly string[] {
    this.#activity.delete(agent)
    const account = this.#agents.get(agent)
    if (account === undefined || account.since_completion === 0) return []
    account.since_completion = 0
    return [`agent:${agent}`]
  }

  forget(agent: number): void {
    this.#agents.delete(agent)
    this.#activity.delete(agent)
  }

  /** Returns tokens and US dollars of a session. */
  session(name: string): { readonly tokens: number; readonly cost: number } {
    return this.#sessions.get(name) ?? { tokens: 0, cost: 0 }
  }

  tenant(name: string): { readonly tokens: number; readonly cost: number } {
    return this.#tenants.get(name) ?? { tokens: 0, cost: 0 }
  }

  /** Returns the last costs of this process, newest last; at most 1,000 are stored. */
  costs(filter: { readonly agent_id?: number; readonly limit?: number } = {}): readonly TimedCost[] {
    const { agent_id: agent, limit = MAX_COSTS } = filter
    const found = agent === undefined ? this.#costs : this.#costs.filter(cost => cost.agent_id === agent)
    return limit <= 0 ? [] : found.slice(-limit)
  }

  keys(): Iterable<string> {
    const named = (kind: string, names: Iterable<string | number>) => Array.from(names, name => `${kind}:${name}`)
    return [
      ...named('agent', this.#agents.keys()),
      ...named('tenant', this.#tenants.keys()),
      ...named('session', this.#sessions.keys())
    ]
  }

  /** Returns the evidence of loops, and the last costs. */
  exportState(): BudgetMemory {
    return { activity: this.#activity, costs: this.#costs }
  }

  importState(state: unknown): void {
    const { activity, costs } = state as BudgetMemory
    for (const [agent, each] of activity) this.#activity.set(agent, each)
    this.#costs.push(...costs)
  }

  serialise(key: string): string | null {
    const [kind, name] = split(key)
    const found =
      kind === 'agent' ? this.#agents.get(Number(name)) : (kind === 'tenant' ? this.#tenants : this.#sessions).get(name)
    return found === undefined ? null : JSON.stringify(found)
  }

  /** Restores a record. Throws if `json` is not JSON. Invalid amounts become 0, invalid limits null. */
  restore(key: string, json: string): void {
    const [kind, name] = split(key)
    const stored = JSON.parse(json) as Partial<Record<keyof Account, unknown>>
    const spending = { tokens: amount(stored.tokens) ?? 0, cost: amount(stored.cost) ?? 0 }
    if (kind === 'tenant') this.#tenants.set(name, spending)
    else if (kind === 'session') this.#sessions.set(name, spending)
    else
      this.#agents.set(Number(name), {
        ...spending,
        max_tokens: amount(stored.max_tokens),
        max_cost: amount(stored.max_cost),
        since_completion: amount(stored.since_completion) ?? 0
      })
  }

  #account(agent: number): Account {
    return entryOf(this.#agents, agent, () => ({
      tokens: 0,
      cost: 0,
      max_tokens: null,
      max_cost: null,
      since_completion: 0
    }))
  }

  #maxTokens(agent: number): number {
    return this.#agents.get(agent)?.max_tokens ?? this.#settings().agent_max_tokens
  }

  #maxCost(agent: number): number {
    return this.#agents.get(agent)?.max_cost ?? this.#settings().agent_max_cost_usd
  }

  /** Charges a session. Adds the keys of sessions dropped from memory to `keys`, so that their records are deleted. */
  #chargeSession(name: string, tokens: number, cost: number, keys: string[]): void {
    const spending = this.#sessions.get(name) ?? { tokens: 0, cost: 0 }
    charge(spending, tokens, cost)
    this.#sessions.delete(name)
    this.#sessions.set(name, spending)
    if (this.#sessions.size <= MAX_SESSIONS) return
    for (const oldest of this.#sessions.keys()) {
      this.#sessions.delete(oldest)
      keys.push(`session:${oldest}`)
      return
    }
  }

  #spent(agent: number, signal: 'CostExceeded' | 'Critical'): SvcError {
    const { cost_usd, max_cost_usd, tokens_used, max_tokens } = this.of(agent)
    const spent =
      signal === 'CostExceeded' ? `${usd(cost_usd)} of ${usd(max_cost_usd)}` : `${tokens_used} of ${max_tokens} tokens`
    return exceeded(`${agentLabel(agent)} has spent ${spent}`)
  }
}

function exceeded(problem: string): SvcError {
  return orchestrationErrors.create('ORC_BUDGET_EXCEEDED', `Budget exceeded: ${problem}`, {
    hint: 'raise the budget of the agent or the limit in [orchestrator], or pass the work to another agent'
  })
}

function charge(spending: Spending, tokens: number, cost: number): void {
  spending.tokens += tokens
  spending.cost += cost
}

function entry(map: Map<string, Spending>, name: string): Spending {
  return entryOf(map, name, () => ({ tokens: 0, cost: 0 }))
}

function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let found = map.get(key)
  if (found === undefined) {
    found = make()
    map.set(key, found)
  }
  return found
}

function fingerprint(output: string): string {
  const bytes = Buffer.from(output.slice(-OUTPUT_BYTES), 'utf8').subarray(-OUTPUT_BYTES)
  return createHash('sha256').update(bytes).digest('base64')
}

function split(key: string): readonly [kind: string, name: string] {
  const colon = key.indexOf(':')
  return [key.slice(0, colon), key.slice(colon + 1)]
}

function amount(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null
}

function usd(amountOf: number): string {
  return `${amountOf.toFixed(2)} USD`
}
