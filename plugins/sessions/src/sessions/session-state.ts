import type { JourneyEnvelope, TranscriptEntry } from '@svc/contracts'

export type SessionStateName = 'active' | 'idle' | 'archived' | 'compacted'

/** Allowed state transitions. A turn makes every session active again. */
export const TRANSITIONS: Readonly<Record<SessionStateName, readonly SessionStateName[]>> = {
  active: ['idle', 'archived'],
  idle: ['active', 'archived'],
  archived: ['active', 'compacted'],
  compacted: ['active']
}

/** Event of a session. `id` is unique within the session, across files and rows; `at` is in Unix milliseconds. */
export type SessionEvent = { readonly id: string; readonly at: number } & (
  | {
      readonly event: 'created'
      readonly session_id: string
      readonly agent_id: number | null
      readonly repository_id: string
    }
  | { readonly event: 'turn_added'; readonly turn: SessionTurn }
  | { readonly event: 'state_changed'; readonly state: SessionStateName; readonly reason: string }
  | { readonly event: 'meta_updated'; readonly meta: Readonly<Record<string, string>> }
  | { readonly event: 'reset' | 'compacted'; readonly turns: number }
)

export interface SessionTurn extends Omit<TranscriptEntry, 'content'> {
  /** Absent in database rows; there `conversation_messages` contains it under the same id. */
  readonly content?: string
  readonly journey?: JourneyEnvelope
}

export interface SessionView {
  readonly session_id: string
  readonly agent_id: number | null
  readonly repository_id: string
  readonly state: SessionStateName
  readonly created_at_ms: number
  readonly updated_at_ms: number
  readonly turns: number
  readonly tokens: number
  readonly meta: Readonly<Record<string, string>>
}

/** Sorts events by time, then by id, so that all readers agree on the order. */
export function inOrder(events: Iterable<SessionEvent>): SessionEvent[] {
  return [...events].sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
}

/**
 * Session state after applying its events in order. Invalid transitions are skipped: they come from another process
 * that did not see a turn.
 */
export class SessionFold {
  readonly #session: string
  #repository: string
  #agent: number | null = null
  #state: SessionStateName = 'active'
  #created: number | undefined
  #updated = 0
  #tokens = 0
  #meta: Readonly<Record<string, string>> = {}
  #turns: SessionTurn[] = []

  constructor(session: string, repository: string, events: Iterable<SessionEvent> = []) {
    this.#session = session
    this.#repository = repository
    for (const event of inOrder(events)) this.apply(event)
  }

  copy(): SessionFold {
    const copy = new SessionFold(this.#session, this.#repository)
    copy.#agent = this.#agent
    copy.#state = this.#state
    copy.#created = this.#created
    copy.#updated = this.#updated
    copy.#tokens = this.#tokens
    copy.#meta = this.#meta
    copy.#turns = [...this.#turns]
    return copy
  }

  get turns(): readonly SessionTurn[] {
    return this.#turns
  }

  get view(): SessionView {
    return {
      session_id: this.#session,
      agent_id: this.#agent,
      repository_id: this.#repository,
      state: this.#state,
      created_at_ms: this.#created ?? 0,
      updated_at_ms: this.#updated,
      turns: this.#turns.length,
      tokens: this.#tokens,
      meta: this.#meta
    }
  }

  apply(event: SessionEvent): void {
    this.#created ??= event.at
    switch (event.event) {
      case 'created':
        this.#agent ??= event.agent_id
        this.#repository = event.repository_id
        break
      case 'turn_added':
        this.#turns.push(event.turn)
        this.#tokens += event.turn.tokens ?? 0
        this.#state = 'active'
        break
      case 'meta_updated':
        this.#meta = { ...this.#meta, ...event.meta }
        break
      case 'reset':
        this.#turns = []
        this.#tokens = 0
        this.#state = 'active'
        break
      case 'state_changed':
        this.#become(event.state)
        return
      case 'compacted':
        this.#become('compacted')
        return
    }
    this.#updated = Math.max(this.#updated, event.at)
  }

  /** Changes the state if the transition is valid. Callers leave `#updated` as is: a transition is no use of the session. */
  #become(next: SessionStateName): void {
    if (TRANSITIONS[this.#state].includes(next)) this.#state = next
  }
}

/**
 * Parses an event from JSON; null for invalid input, such as an incomplete line or an unknown event. An event of
 * another program without an id is identified by its line.
 */
export function eventOf(value: unknown, text: string): SessionEvent | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  const { id = text, at, event, turn, state, meta } = value as Record<string, unknown>
  if (typeof id !== 'string' || typeof at !== 'number' || !Number.isFinite(at) || typeof event !== 'string') return null
  const isWhole =
    event === 'created' ||
    event === 'reset' ||
    event === 'compacted' ||
    (event === 'turn_added' && isTurn(turn)) ||
    (event === 'state_changed' && typeof state === 'string' && Object.hasOwn(TRANSITIONS, state)) ||
    (event === 'meta_updated' && typeof meta === 'object' && meta !== null)
  return isWhole ? ({ ...value, id } as SessionEvent) : null
}

const ROLES: readonly unknown[] = ['user', 'assistant', 'system', 'tool']

function isTurn(value: unknown): value is SessionTurn {
  if (typeof value !== 'object' || value === null) return false
  const { id, role, content, timestamp, context_files } = value as Record<string, unknown>
  return (
    typeof id === 'string' &&
    ROLES.includes(role) &&
    (content === undefined || typeof content === 'string') &&
    typeof timestamp === 'number' &&
    Array.isArray(context_files)
  )
}
