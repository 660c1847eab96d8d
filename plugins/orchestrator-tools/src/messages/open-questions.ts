import type { A2aBus, A2aMessage, Topics } from '@svc/contracts'
import { idOf, payloadOf, QUESTION } from './questions.ts'

/** Topic of the plugin a2a: messages were sent or acknowledged. */
export const MESSAGES_TOPIC = 'a2a.messages'
/** Maximum messages that are searched for open questions. */
const MAX_SEARCHED = 1_000
/** Messages of other processes are not announced, so questions are read again after this time. */
const MAX_AGE_MS = 10_000

/** Question to an agent that is not answered yet. */
export interface OpenQuestion {
  readonly id: string
  readonly from: number
  readonly to: number
  readonly text: string
  readonly options: readonly string[]
  /** Unix milliseconds. */
  readonly askedAt: number
}

/** Open questions to all agents, read again only after messages changed. */
export class OpenQuestions {
  readonly #bus: () => A2aBus | undefined
  readonly #topics: Pick<Topics, 'version'>
  #known: readonly OpenQuestion[] = []
  #version = -1
  #readAt = Number.NEGATIVE_INFINITY

  constructor(bus: () => A2aBus | undefined, topics: Pick<Topics, 'version'>) {
    this.#bus = bus
    this.#topics = topics
  }

  /** Returns the open questions, oldest first; none while there is no message bus. */
  async all(): Promise<readonly OpenQuestion[]> {
    const bus = this.#bus()
    if (bus === undefined) return []
    const version = this.#topics.version(MESSAGES_TOPIC)
    if (version === this.#version && performance.now() - this.#readAt < MAX_AGE_MS) return this.#known
    const messages = await bus.history({ limit: MAX_SEARCHED })
    this.#known = messages.flatMap(questionOf)
    this.#version = version
    this.#readAt = performance.now()
    return this.#known
  }
}

function questionOf(message: A2aMessage): OpenQuestion[] {
  if (message.msg_type !== QUESTION || message.acknowledged || message.receiver === null) return []
  const { clarification_intent, options } = payloadOf(message)
  return [
    {
      id: idOf(message),
      from: message.sender,
      to: message.receiver,
      text: String(clarification_intent ?? message.payload),
      options: Array.isArray(options) ? options.map(String) : [],
      askedAt: message.timestamp_ms
    }
  ]
}
