import type { SearchSource } from '@svc/contracts'
import type { Sessions } from './sessions/sessions.ts'

const MAX_TITLE_CHARS = 120
/** Older messages of a longer session are not searched. Less than the default of the index's `index_max_file_bytes`. */
const MAX_TEXT_BYTES = 500_000

const SEPARATOR = '\n\n'

/** Transcripts as documents of the search. The key is the session, the title its first message. */
export class SessionsSource implements SearchSource {
  readonly name = 'sessions'
  readonly #sessions: Sessions
  readonly #listeners = new Set<() => void>()

  constructor(sessions: Sessions) {
    this.#sessions = sessions
  }

  /** Called after a session changed. */
  changed(): void {
    for (const listener of this.#listeners) listener()
  }

  async list() {
    const sessions = await this.#sessions.list()
    return sessions
      .filter(({ turns }) => turns > 0)
      .map(({ session_id, updated_at_ms, turns }) => ({ key: session_id, version: `${updated_at_ms} ${turns}` }))
  }

  async read(key: string) {
    const turns = await this.#sessions.turns(key)
    const [first] = turns
    if (first === undefined) return null
    const parts: string[] = []
    let size = 0
    for (const { role, content } of turns.toReversed()) {
      const part = `${role}: ${content}`
      size += Buffer.byteLength(part) + SEPARATOR.length
      if (size > MAX_TEXT_BYTES && parts.length > 0) break
      parts.push(cutBytes(part, MAX_TEXT_BYTES))
    }
    const title = first.content.replace(/\s+/g, ' ').trim().slice(0, MAX_TITLE_CHARS)
    return { title: title === '' ? key : title, text: parts.toReversed().join(SEPARATOR) }
  }

  watch(changed: () => void): () => void {
    this.#listeners.add(changed)
    return () => void this.#listeners.delete(changed)
  }
}

/** Returns the start of a text that takes at most `maximum` bytes in UTF-8, without half a character. */
function cutBytes(text: string, maximum: number): string {
  const bytes = Buffer.from(text)
  return bytes.length <= maximum ? text : new TextDecoder().decode(bytes.subarray(0, maximum), { stream: true })
}
