import type { DatabaseStore, InferenceClient, JourneyEnvelope, Orchestrator } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import type { ModelAnswer } from './ask.ts'

/** Agent to charge for sessions without an agent. */
const DEFAULT_AGENT = 0

export interface AccountsParts {
  readonly orchestrator: () => Orchestrator
  readonly client: () => InferenceClient
  readonly database: () => DatabaseStore | undefined
  readonly log: Logger
}

/** Records model costs in events, budgets, and rows of `agent_events`. */
export class Accounts {
  readonly #parts: AccountsParts

  constructor(parts: AccountsParts) {
    this.#parts = parts
  }

  /** Charges an answer. Never throws: an answer stays valid if its accounting fails. */
  async charge(surface: string, journey: JourneyEnvelope, answer: ModelAnswer): Promise<void> {
    const { orchestrator, log } = this.#parts
    const { session_id } = journey
    const duration_ms = Math.round(answer.milliseconds)
    const tokens = { prompt_tokens: answer.promptTokens, completion_tokens: answer.completionTokens }
    try {
      const tasks = orchestrator()
      tasks.emit({ type: 'llm_call_completed', session_id, duration_ms, ...tokens })
      const agent = tasks.agents().find(each => each.session_id === session_id)?.id
      const { account_id } = tasks.policy
      await tasks.budgets.record({
        agent_id: agent ?? DEFAULT_AGENT,
        session_id,
        ...(account_id === null ? {} : { tenant_id: account_id }),
        provider: answer.provider ?? (await this.#parts.client().endpoint()).api,
        model: answer.model,
        input_tokens: answer.promptTokens,
        output_tokens: answer.completionTokens,
        cost_usd: answer.costUsd
      })
      const payload = { surface, model: answer.model, duration_ms, ...tokens, journey }
      await this.#parts
        .database()
        ?.execute('INSERT INTO agent_events (agent_id, event_type, payload_json) VALUES (?, ?, ?)', [
          agent === undefined ? 'assistant' : String(agent),
          'llm_turn',
          JSON.stringify(payload)
        ])
    } catch (error) {
      log.warn('the costs of a model call could not be recorded', { surface, reason: String(error) })
    }
  }
}
