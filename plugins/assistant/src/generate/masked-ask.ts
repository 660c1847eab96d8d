import type { ChatMessage, InferenceClient } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { isPrefixOf } from '../grammar/prefix.ts'
import { VOX_GRAMMAR, voxGrammar } from '../grammar/vox-grammar.ts'
import { askModel, type ModelAnswer } from '../model/ask.ts'

export interface MaskReport {
  readonly requested: boolean
  /** Whether the server took the grammar, and its answers kept to it. */
  readonly applied: boolean
  /** Why it was not applied. */
  readonly reason: string | null
}

/** The addition of this project's model server to both formats. */
const FORMAT = { type: 'grammar', grammar: { name: VOX_GRAMMAR } }

/**
 * Asks for programs, masked by the grammar of the language where that is wanted. A server that knows no such format is asked again
 * without it, and from then on; one that ignores it is found out by what it answers.
 */
export class MaskedAsk {
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
      this.#reason = `the model server takes no grammar: ${error.message}`
      return askModel(this.#client, { messages, signal }, onText)
    }
    if (!isPrefixOf(voxGrammar(), answer.text)) {
      this.#reason = 'the model server takes the grammar and does not keep to it'
    }
    return answer
  }
}
