import {
  agentLabel,
  type ChatMessage,
  type ChatTool,
  type ChatToolCall,
  type InferenceChatEvent,
  type InferenceChatRequest,
  type InferenceClient,
  type InferenceEndpoint,
  type Orchestrator,
  type TaskView,
  type TaskWork,
  taskLabel
} from '@svc/contracts'
import { isSvcError, type Logger } from '@svc/plugin-sdk'
import { delay } from '../abortable.ts'
import type { Settings } from '../settings.ts'
import { budgetExceeded } from '../work.ts'
import { CHATML_STOP, toChatml } from './chatml.ts'
import { priceOf } from './model-choice.ts'
import { longestOf, MIN_CUT, shorten } from './shorten.ts'

/** Maximum attempts of one call, including the first. */
const ATTEMPTS = 4
const PAUSE_MS = 500
const MAX_PAUSE_MS = 60_000
const CHARACTERS_PER_TOKEN = 4
/** Matches server errors for a prompt that does not fit the context: this project, vLLM, OpenAI and llama.cpp. */
const TOO_LONG = /context (holds|length|size|window)|exceeds? the (available )?context/i

export interface Question {
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly ChatTool[]
  readonly format?: Readonly<Record<string, unknown>>
}

export interface ModelReply {
  readonly text: string
  readonly calls: readonly ChatToolCall[]
}

export interface TaskModelParts {
  readonly client: InferenceClient
  readonly endpoint: InferenceEndpoint
  readonly model: string
  readonly orchestrator: Orchestrator
  readonly settings: Settings
  readonly log: Logger
}

/** Calls one model for one task: streams, charges the cost, and reports the server's health. */
export class TaskModel {
  readonly #parts: TaskModelParts
  readonly #task: TaskView
  readonly #work: TaskWork
  /** True if the server has rejected a request with tools. */
  #rejectsTools = false
  /** True if the server has rejected a request with a response schema. */
  #rejectsFormat = false
  /** Maximum characters of a message; reduced when the server rejects a prompt as too long. */
  #maxMessageLength = Infinity

  constructor(parts: TaskModelParts, task: TaskView, work: TaskWork) {
    this.#parts = parts
    this.#task = task
    this.#work = work
  }

  /** True if tools may be offered; a raw ChatML prompt has no syntax for them. */
  get supportsTools(): boolean {
    return !this.#rejectsTools && !this.#parts.orchestrator.policy.chatml_strict
  }

  /**
   * Returns the model's reply; retries if useful. Throws the client's last error, the reason of `signal`, and
   * `ORC_BUDGET_EXCEEDED`.
   */
  async ask(question: Question, signal: AbortSignal): Promise<ModelReply> {
    for (let left = ATTEMPTS - 1; ; left -= 1) {
      this.#assertBudget()
      try {
        return await this.#try(question, signal)
      } catch (error) {
        signal.throwIfAborted()
        const wait = this.#retryDelay(error, question, ATTEMPTS - left)
        if (wait === null || left === 0) throw error
        this.#parts.log.info('a model is called again', { task: taskLabel(this.#task.id), wait_ms: wait, error })
        await delay(wait, signal)
      }
    }
  }

  /** Returns the milliseconds until a retry; null if a retry cannot help. Adapts the next request to the error. */
  #retryDelay(error: unknown, question: Question, attempts: number): number | null {
    if (!isSvcError(error)) return null
    if (error.code === 'ICL_BUSY') {
      const after = (error.data as { retryAfterMs?: number } | undefined)?.retryAfterMs ?? PAUSE_MS * 2 ** attempts
      return Math.min(after, MAX_PAUSE_MS)
    }
    if (error.code === 'ICL_BROKEN_OFF' || error.code === 'ICL_UNREACHABLE') return PAUSE_MS * 2 ** (attempts - 1)
    if (error.code !== 'ICL_REFUSED') return null
    const longest = Math.min(this.#maxMessageLength, longestOf(question.messages))
    if (TOO_LONG.test(error.message) && longest > MIN_CUT) {
      this.#maxMessageLength = Math.max(MIN_CUT, Math.floor(longest / 2))
      return 0
    }
    // Models without tools, and servers without response schemas, reject the whole request.
    if (question.tools !== undefined && !this.#rejectsTools && /tool|function/i.test(error.message))
      this.#rejectsTools = true
    else if (question.format !== undefined && !this.#rejectsFormat) this.#rejectsFormat = true
    else return null
    return 0
  }

  async #try(question: Question, signal: AbortSignal): Promise<ModelReply> {
    const { client, orchestrator } = this.#parts
    const began = performance.now()
    const calls: ChatToolCall[] = []
    let text = ''
    let done: Extract<InferenceChatEvent, { type: 'done' }> | undefined
    try {
      for await (const event of client.chat({ ...this.#request(question), signal })) {
        if (event.type === 'text') {
          text += event.text
          this.#work.token(event.text)
        } else if (event.type === 'tool-call') calls.push(event.call)
        else if (event.type === 'done') done = event
      }
    } catch (error) {
      this.#reportReliability({ error, timedOut: signal.aborted })
      // The server charges for the part that was received.
      if (text !== '') await this.#charge(estimate(question.messages), tokensIn(text))
      throw error
    }
    const prompt = done?.usage.promptTokens || estimate(question.messages)
    const written = done?.usage.completionTokens || tokensIn(text)
    this.#reportReliability({ calls, offered: question.tools })
    orchestrator.emit({
      type: 'llm_call_completed',
      session_id: this.#task.session_id ?? '',
      duration_ms: Math.round(performance.now() - began),
      prompt_tokens: prompt,
      completion_tokens: written
    })
    await this.#charge(prompt, written, done)
    return { text, calls }
  }

  #request({ messages: allMessages, tools, format }: Question): InferenceChatRequest {
    const messages = shorten(allMessages, this.#maxMessageLength)
    const { model, settings, endpoint, orchestrator } = this.#parts
    const { max_tokens, tokens_used } = orchestrator.budgets.of(this.#task.agent_id)
    const maxTokens = Math.max(1, Math.min(settings.output_tokens, max_tokens - tokens_used))
    const { session_id: session, category, complexity } = this.#task
    const { cost_preference: costPreference } = orchestrator.policy
    const agent = agentLabel(this.#task.agent_id)
    const work = { agent, category, complexity, costPreference, charged: true }
    const purpose = { ...(session === undefined ? {} : { session }), ...work }
    const common = { model, maxTokens, purpose, ...(format === undefined || this.#rejectsFormat ? {} : { format }) }
    if (orchestrator.policy.chatml_strict)
      return { ...common, messages: [], prompt: { text: toChatml(messages), raw: true }, stop: CHATML_STOP }
    if (tools !== undefined && !this.#rejectsTools) return { ...common, messages, tools }
    const [system, user, ...more] = messages
    // Ollama has a separate route for a single question.
    if (endpoint.api === 'ollama' && system?.role === 'system' && user !== undefined && more.length === 0)
      return { ...common, messages: [], prompt: { text: user.content, raw: false, system: system.content } }
    return { ...common, messages }
  }

  #assertBudget(): void {
    const { orchestrator } = this.#parts
    const { signal } = orchestrator.budgets.of(this.#task.agent_id)
    if (signal === 'CostExceeded' || signal === 'Critical') throw budgetExceeded(orchestrator, this.#task.agent_id)
  }

  /** Charges a call. The provider's price of the answer, if there is one, has priority over the settings. */
  #charge(
    input_tokens: number,
    output_tokens: number,
    answer: { readonly provider?: string; readonly model?: string; readonly costUsd?: number } = {}
  ): Promise<void> {
    const { endpoint, settings } = this.#parts
    const { provider = endpoint.api, costUsd } = answer
    // The configured server may report another name than the one with a price.
    const model = answer.provider === undefined ? this.#parts.model : (answer.model ?? this.#parts.model)
    const cost_usd = costUsd ?? priceOf(settings.prices, model, input_tokens, output_tokens)
    return this.#work.cost({ provider, model, input_tokens, output_tokens, cost_usd })
  }

  /** Reports the reliability of a call. `hallucination_proxy` is the share of tool calls to unknown tools, [0, 1]. */
  #reportReliability(outcome: {
    readonly calls?: readonly ChatToolCall[]
    readonly offered?: readonly ChatTool[] | undefined
    readonly error?: unknown
    readonly timedOut?: boolean
  }): void {
    const { calls = [], offered = [], error, timedOut = false } = outcome
    const code = isSvcError(error) ? error.code : null
    const invented = calls.filter(call => !offered.some(({ name }) => name === call.name)).length
    this.#parts.orchestrator.emit({
      type: 'endpoint_reliability_observation',
      endpoint_url: this.#parts.endpoint.url,
      model_id: this.#parts.model,
      hallucination_proxy: calls.length === 0 ? 0 : invented / calls.length,
      contradiction_ratio: 0,
      infra_failure: code === 'ICL_UNREACHABLE' || code === 'ICL_BROKEN_OFF',
      rate_limit_hit: code === 'ICL_BUSY',
      timeout_hit: timedOut
    })
  }
}

function tokensIn(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN)
}

function estimate(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, { content }) => sum + tokensIn(content), 0)
}
