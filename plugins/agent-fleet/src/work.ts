import {
  type AgentActivity,
  agentLabel,
  type CostRecord,
  type Orchestrator,
  orchestrationErrors,
  type TaskPhase,
  type TaskView,
  type TaskWork,
  taskLabel
} from '@svc/contracts'
import { TokenBatches } from './token-batches.ts'

const ACTIVITIES: Readonly<Record<TaskPhase, AgentActivity>> = {
  inspect: 'reading',
  localize: 'reading',
  hypothesize: 'thinking',
  act: 'writing',
  verify: 'executing',
  decide: 'thinking'
}

/** Passes a processor's reports to the orchestrator, with batched tokens. Ignores reports other than costs after an abort. */
export class Work implements TaskWork {
  readonly signal: AbortSignal
  readonly #orchestrator: Orchestrator
  readonly #task: TaskView
  readonly #tokens: TokenBatches
  #activity: AgentActivity = 'thinking'
  #spentUsd = 0

  constructor(orchestrator: Orchestrator, task: TaskView, signal: AbortSignal) {
    this.signal = signal
    this.#orchestrator = orchestrator
    this.#task = task
    const { id: task_id, agent_id } = task
    this.#tokens = new TokenBatches(text => orchestrator.emit({ type: 'token_streamed', agent_id, text, task_id }))
  }

  /** Activity of the agent, for its heartbeat. */
  get activity(): AgentActivity {
    return this.#activity
  }

  phase(phase: TaskPhase): void {
    if (this.signal.aborted) return
    this.#tokens.flush()
    this.#activity = ACTIVITIES[phase]
    this.#orchestrator.phase(this.#task.id, phase)
    this.#orchestrator.heartbeat(this.#task.agent_id, this.#activity)
  }

  token(text: string): void {
    if (!this.signal.aborted) this.#tokens.add(text)
  }

  async cost(cost: Omit<CostRecord, 'agent_id' | 'task_id'>): Promise<void> {
    const { id, agent_id, session_id, tenant_id, budget } = this.#task
    const signal = await this.#orchestrator.budgets.record({
      ...(session_id === undefined ? null : { session_id }),
      ...(tenant_id === undefined ? null : { tenant_id }),
      ...cost,
      agent_id,
      task_id: id
    })
    this.#spentUsd += cost.cost_usd
    const limit = budget?.max_cost_usd
    if (limit !== undefined && this.#spentUsd > limit) {
      throw orchestrationErrors.create(
        'ORC_BUDGET_EXCEEDED',
        `Budget exceeded: task ${taskLabel(id)} has spent ${this.#spentUsd.toFixed(4)} of ${limit} USD`,
        { hint: 'submit the task again with a larger max_cost_usd, or with a cheaper model' }
      )
    }
    if (signal !== 'CostExceeded' && signal !== 'Critical') return
    throw budgetExceeded(this.#orchestrator, agent_id)
  }

  observe(note: string): void {
    if (!this.signal.aborted) this.#orchestrator.observe(this.#task.id, note)
  }

  turn(message: string): void {
    if (!this.signal.aborted) this.#orchestrator.turn(this.#task.id, message)
  }

  /** Sends the buffered tokens. */
  close(): void {
    this.#tokens.flush()
  }
}

/** Returns the error for an agent whose budget is exhausted. */
export function budgetExceeded(orchestrator: Orchestrator, agent: number): Error {
  const { tokens_used, max_tokens, cost_usd, max_cost_usd } = orchestrator.budgets.of(agent)
  return orchestrationErrors.create(
    'ORC_BUDGET_EXCEEDED',
    `Budget exceeded: ${agentLabel(agent)} has used ${tokens_used} of ${max_tokens} tokens and ${cost_usd.toFixed(4)} of ${max_cost_usd} USD`,
    { hint: 'raise the budget of the agent, or submit the task to another agent' }
  )
}
