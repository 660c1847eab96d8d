import type { InferenceClient } from '@svc/contracts'

const TASK =
  'Correct misheard words in a transcript of speech. Keep its language, its meaning and its length. Answer with only the corrected transcript.'
/** Maximum ratio of the lengths. Beyond it, the model has replied to the text instead of correcting it. */
const LENGTH_RATIO = 1.5

/** Corrects misheard words with a language model. */
export class Proofreader {
  readonly #client: () => InferenceClient
  readonly #maxTokens: number
  readonly #warn: (message: string, reason: unknown) => void

  constructor(client: () => InferenceClient, maxTokens: number, warn: (message: string, reason: unknown) => void) {
    this.#client = client
    this.#maxTokens = maxTokens
    this.#warn = warn
  }

  /** Corrects a text. Returns the text unchanged if the model fails or the reply is not a correction. */
  async correct(text: string, signal: AbortSignal): Promise<string> {
    let answer = ''
    try {
      const messages = [
        { role: 'system' as const, content: TASK },
        { role: 'user' as const, content: text }
      ]
      const chat = this.#client().chat({ messages, temperature: 0, maxTokens: this.#maxTokens, signal })
      for await (const event of chat) if (event.type === 'text') answer += event.text
    } catch (error) {
      signal.throwIfAborted()
      this.#warn('transcripts are not corrected by a language model', error)
      return text
    }
    const corrected = answer.replaceAll(/\s+/g, ' ').trim()
    const similar = corrected.length <= text.length * LENGTH_RATIO && corrected.length * LENGTH_RATIO >= text.length
    return similar ? corrected : text
  }
}
