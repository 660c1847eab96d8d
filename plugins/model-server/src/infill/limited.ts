import type { AnswerEvent } from '../answer/answer.ts'
import type { InfillLimits } from './request.ts'

/**
 * Ends an answer at its limits, as llama.cpp: after the first line, once the time is over or a line is indented less than
 * the minimum; that line is cut after its indentation. `finish` ends the generation; the event `done` still follows, with
 * the finish reason `length`.
 */
export async function* limited(
  events: AsyncIterable<AnswerEvent>,
  { predictMs, indentation }: InfillLimits,
  finish: () => void
): AsyncGenerator<AnswerEvent, void> {
  let startedAt: number | undefined
  let isLimited = false
  const lines = new Lines(indentation)
  for await (const event of events) {
    if (event.type === 'done') {
      yield isLimited ? { ...event, finishReason: 'length' } : event
      continue
    }
    if (isLimited || event.type !== 'text') continue
    startedAt ??= performance.now()
    const length = lines.read(event.text)
    const isCut = length < event.text.length
    const isLate = predictMs > 0 && lines.count > 0 && performance.now() - startedAt > predictMs
    yield isCut ? { ...event, text: event.text.slice(0, length) } : event
    if (!isCut && !isLate) continue
    isLimited = true
    finish()
  }
}

/** Measures the indentation of the lines of a text that arrives in pieces. */
class Lines {
  /** Number of line ends so far. */
  count = 0
  readonly #min: number
  /** Indentation of the current line so far; null after it, and on the first line. */
  #indentation: number | null = null

  constructor(min: number) {
    this.#min = min
  }

  /** Reads a piece; returns the characters up to a line that is indented too little, or its length. */
  read(text: string): number {
    for (let at = 0; at < text.length; at++) {
      const character = text[at]
      if (character === '\n') {
        this.count += 1
        this.#indentation = 0
      } else if (this.#indentation !== null) {
        if (character === ' ' || character === '\t') this.#indentation += 1
        else if (this.#indentation < this.#min) return at
        else this.#indentation = null
      }
    }
    return text.length
  }
}
