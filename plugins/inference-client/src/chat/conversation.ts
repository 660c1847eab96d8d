import type {
  ChatImage,
  InferenceChatEvent,
  InferenceChatUsage,
  InferenceClient,
  InferenceMessage
} from '@svc/contracts'

export interface ConversationOptions {
  readonly model: string
  readonly system?: string
  readonly temperature?: number
  readonly maxTokens?: number
}

export interface Turn {
  readonly text: string
  /** True if the user stopped it; the partial answer stays in the conversation. */
  readonly stopped: boolean
  /** Null for a stopped answer, which has no counts. */
  readonly usage: InferenceChatUsage | null
  /** Milliseconds to the first piece of the answer; null if there is none. `restMs`: from there to the end. */
  readonly firstMs: number | null
  readonly restMs: number | null
  readonly finishReason: 'stop' | 'length' | 'tool-calls' | null
}

type Part = Extract<InferenceChatEvent, { text: string }>

/** Conversation with a model: sends each question with the messages so far. */
export class Conversation {
  readonly #client: Pick<InferenceClient, 'chat'>
  readonly #messages: InferenceMessage[] = []
  options: ConversationOptions
  /** Images of the next question. They are kept if it fails. */
  images: readonly ChatImage[] = []

  constructor(client: Pick<InferenceClient, 'chat'>, options: ConversationOptions) {
    this.#client = client
    this.options = options
  }

  reset(): void {
    this.#messages.length = 0
  }

  /** Sends a question and emits the answer in pieces. A failed question is not added to the conversation. */
  async ask(question: string, signal: AbortSignal, onPart: (part: Part) => void): Promise<Turn> {
    const { model, system, temperature, maxTokens } = this.options
    const { images } = this
    const userMessage: InferenceMessage = {
      role: 'user',
      content: question,
      ...(images.length === 0 ? {} : { images })
    }
    const began = performance.now()
    let first: number | null = null
    let text = ''
    const turn = (rest: Pick<Turn, 'stopped' | 'usage' | 'finishReason'>): Turn => {
      this.images = []
      this.#messages.push(userMessage, { role: 'assistant', content: text })
      const firstMs = first === null ? null : first - began
      return { text, firstMs, restMs: first === null ? null : performance.now() - first, ...rest }
    }
    try {
      for await (const event of this.#client.chat({
        model,
        messages: [
          ...(system === undefined ? [] : [{ role: 'system', content: system } as const]),
          ...this.#messages,
          userMessage
        ],
        ...(temperature === undefined ? {} : { temperature }),
        ...(maxTokens === undefined ? {} : { maxTokens }),
        signal
      })) {
        if (event.type === 'done') return turn({ stopped: false, usage: event.usage, finishReason: event.finishReason })
        first ??= performance.now()
        if (event.type === 'tool-call') continue
        if (event.type === 'text') text += event.text
        onPart(event)
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
    return turn({ stopped: true, usage: null, finishReason: null })
  }
}

/** Returns "32 tokens in 0.41 s, 78 tokens/s, first after 0.05 s". Prefers the timing that the server reports. */
export function describeSpeed({ usage, firstMs, restMs }: Turn): string {
  if (usage === null || firstMs === null || restMs === null) return ''
  const { completionTokens, completionMs } = usage
  const milliseconds = completionMs ?? restMs
  const seconds = (value: number): string => `${(value / 1000).toFixed(2)} s`
  const rate = milliseconds > 0 ? `, ${Math.round((completionTokens * 1000) / milliseconds)} tokens/s` : ''
  return `${completionTokens} tokens in ${seconds(milliseconds)}${rate}, first after ${seconds(firstMs)}`
}
