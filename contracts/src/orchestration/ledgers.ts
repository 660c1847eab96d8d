import type { TrustTier } from './agent.ts'

export type BudgetSignal =
  | 'CostExceeded'
  | 'Critical'
  | 'HighLoad'
  | 'HaltAgent'
  | 'DoomLoopSuspect'
  | 'ToolLatencyHigh'
  | 'ToolLatencyUnknown'
  | 'Normal'

export interface CostRecord {
  readonly agent_id: number
  readonly task_id?: number
  readonly session_id?: string
  readonly tenant_id?: string
  readonly provider: string
  readonly model: string
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cost_usd: number
}

export interface AgentBudget {
  readonly agent_id: number
  readonly max_tokens: number
  readonly max_cost_usd: number
  readonly tokens_used: number
  readonly cost_usd: number
  /** Fraction of the maximum at which the signal becomes `HighLoad`. */
  readonly token_alert: number
  readonly cost_alert: number
  readonly signal: BudgetSignal
}

/** Spending of agents, sessions and tenants. */
export interface Budgets {
  of(agent: number): AgentBudget
  all(): readonly AgentBudget[]
  set(agent: number, limits: { readonly max_tokens?: number; readonly max_cost_usd?: number }): Promise<AgentBudget>
  /** Adds a cost, writes a row if a database is attached, and emits `cost_incurred`. */
  record(cost: CostRecord): Promise<BudgetSignal>
  /** Records a tool call, to detect loops: many calls in a row, or the same output repeatedly. */
  toolCalled(agent: number, output: string): BudgetSignal
  history(filter?: {
    readonly agent_id?: number
    readonly limit?: number
  }): Promise<readonly (CostRecord & { readonly timestamp_ms: number })[]>
}

export interface TrustView {
  readonly agent_id: number
  /** [0, 1], exponentially weighted. */
  readonly score: number
  readonly tier: TrustTier
  readonly outcomes: number
  readonly overridden: boolean
  /** (successes + 1) / (total + 2). */
  readonly reliability: number
}

export interface Trust {
  of(agent: number): TrustView
  override(agent: number, tier: TrustTier | null, score: number | null, reason: string): Promise<TrustView>
}

export interface ExecutionTimeProfile {
  readonly tool_key: string
  readonly sample_count: number
  readonly avg_ms: number
  readonly p90_ms: number
  readonly max_ms: number
  readonly timeout_rate: number
  readonly recommended_budget_ms: number
  readonly signal: 'ToolLatencyHigh' | 'ToolLatencyUnknown' | 'Normal'
}

/** Durations and timeouts of tools. */
export interface ExecutionTimes {
  record(sample: {
    readonly tool_key: string
    readonly duration_ms: number
    readonly timeout_budget_ms?: number
    readonly outcome: 'success' | 'timeout' | 'error'
    readonly repository_id?: string
  }): Promise<void>
  /** Returns statistics; null if the window has no samples. */
  query(
    toolKey: string,
    options?: { readonly repository_id?: string; readonly window_days?: number }
  ): Promise<ExecutionTimeProfile | null>
  /** Returns a tool's timeout in milliseconds: from its profile, or the default if it has none. */
  budgetFor(toolKey: string): Promise<{ readonly milliseconds: number; readonly signal: BudgetSignal }>
}
