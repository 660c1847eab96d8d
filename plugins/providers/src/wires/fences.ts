import type { InferenceChatEvent } from '@svc/contracts'

const FENCE = '```'

/** Removes the code fence that some models put around JSON, without buffering the answer. */
export async function* withoutFences(
  events: AsyncIterable<InferenceChatEvent>
): AsyncGenerator<InferenceChatEvent, void> {
  const filter = new FenceFilter()
  for await (const event of events) {
    const text = event.type === 'text' ? filter.push(event.text) : event.type === 'done' ? filter.end() : ''
    if (text !== '') yield { type: 'text', text }
    if (event.type !== 'text') yield event
  }
}

export class FenceFilter {
  #state: 'start' | 'fenced' | 'plain' = 'start'
  #held = ''

  /** Returns the text that cannot be part of a fence. */
  push(text: string): string {
    this.#held += text
    if (this.#state === 'start') this.#begin()
    if (this.#state === 'start') return ''
    return this.#release(this.#state === 'fenced' ? this.#held.length - endLength(this.#held) : this.#held.length)
  }

  /** Returns the rest of the text, without the closing fence. */
  end(): string {
    if (this.#state !== 'fenced') return this.#release(this.#held.length)
    const rest = this.#held.trimEnd()
    this.#held = ''
    return rest.endsWith(FENCE) ? rest.slice(0, -FENCE.length).trimEnd() : rest
  }

  #begin(): void {
    const text = this.#held.trimStart()
    if (FENCE.startsWith(text.slice(0, FENCE.length)) && text.length < FENCE.length) return
    if (!text.startsWith(FENCE)) {
      this.#state = 'plain'
      return
    }
    const line = text.indexOf('\n')
    if (line < 0) return
    this.#state = 'fenced'
    this.#held = text.slice(line + 1)
  }

  #release(length: number): string {
    const text = this.#held.slice(0, length)
    this.#held = this.#held.slice(length)
    return text
  }
}

/** Maximum length of a closing fence with the white space around it. */
const MAX_END = 256

/** Length of the end that may belong to the closing fence: white space and backticks. */
function endLength(text: string): number {
  let at = text.length
  while (at > 0 && text.length - at < MAX_END && /[\s`]/.test(text[at - 1] as string)) at -= 1
  return text.length - at
}
