import type { SearchSource } from '@svc/contracts'
import type { Sessions } from './sessions/sessions.ts'

const MAX_TITLE_CHARS = 120
/** Older messages of a longer session are not searched. */
const MAX_TEXT_CHARS = 500_000

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
      size += content.length
      if (size > MAX_TEXT_CHARS && parts.length > 0) break
      parts.unshift(`${role}: ${content.slice(0, MAX_TEXT_CHARS)}`)
    }
    const title = first.content.replace(/\s+/g, ' ').trim().slice(0, MAX_TITLE_CHARS)
    return { title: title === '' ? key : title, text: parts.join('\n\n') }
  }

  watch(changed: () => void): () => void {
    this.#listeners.add(changed)
    return () => void this.#listeners.delete(changed)
  }
}
