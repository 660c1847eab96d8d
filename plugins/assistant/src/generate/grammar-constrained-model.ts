import type { ChatMessage, InferenceClient } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { isPrefixOf } from '../grammar/prefix.ts'
import { VOX_GRAMMAR, voxGrammar } from '../grammar/vox-grammar.ts'
import { askModel, type ModelAnswer } from '../model/ask.ts'

export interface MaskReport {
  readonly requested: boolean
  /** True if the server accepted the grammar and its answers follow it. */
  readonly applied: boolean
  /** Why the grammar was not applied; null if it was. */
  readonly reason: string | null
}

/** Format that this project's model server accepts in addition to those of Ollama and OpenAI. */
const FORMAT = { type: 'grammar', grammar: { name: VOX_GRAMMAR } }

/**
 * Requests programs, constrained by the grammar of the language if enabled. If a server rejects the format, requests
 * continue without it. A server that ignores the format is detected by its answers.
 */
export class GrammarConstrainedModel {
  readonly #client: InferenceClient
  readonly #requested: boolean
  #reason: string | null = null

  constructor(client: InferenceClient, requested: boolean) {
    this.#client = client
    this.#requested = requested
    if (!requested) this.#reason = 'SVC_MCP_GRAMMAR_MASK is off'
  }

  get report(): MaskReport {
    return { requested: this.#requested, applied: this.#reason === null, reason: this.#reason }
  }

  async ask(
    messages: readonly ChatMessage[],
    signal: AbortSignal,
    onText: (text: string) => void
  ): Promise<ModelAnswer> {
    if (this.#reason !== null) return askModel(this.#client, { messages, signal }, onText)
    let answer: ModelAnswer
    try {
      answer = await askModel(this.#client, { messages, signal, format: FORMAT }, onText)
    } catch (error) {
      if (!isSvcError(error, 'ICL_REFUSED')) throw error
      this.#reason = `the model server does not support grammars: ${error.message}`
      return askModel(this.#client, { messages, signal }, onText)
    }
    if (!isPrefixOf(voxGrammar(), answer.text)) {
      this.#reason = 'the model server accepts the grammar but does not apply it'
    }
    return answer
  }
}
