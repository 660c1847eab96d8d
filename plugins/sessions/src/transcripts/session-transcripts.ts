import { randomUUID } from 'node:crypto'
import type { DatabaseStore, TranscriptEntry, Transcripts, TranscriptTurn } from '@svc/contracts'
import { checkedJourney } from '../journey.ts'
import { storable } from '../json-bounds.ts'
import type { SessionTurn } from '../sessions/session-state.ts'
import type { Sessions } from '../sessions/sessions.ts'

const DEFAULT_LIMIT = 100

export interface SessionTranscriptsOptions {
  readonly sessions: Sessions
  readonly store: () => Promise<DatabaseStore | null>
  readonly repositoryId: string
  readonly now: () => number
  /** Called after a message was recorded. */
  readonly recorded?: (session: string, entry: TranscriptEntry) => void
  readonly wasReset: (session: string, agent: number | null, turns: number) => void
}

/** Transcripts of sessions. Characters that a database cannot store are replaced by U+FFFD, in files, too. */
export class SessionTranscripts implements Transcripts {
  readonly #options: SessionTranscriptsOptions

  constructor(options: SessionTranscriptsOptions) {
    this.#options = options
  }

  async append(input: TranscriptTurn): Promise<TranscriptEntry> {
    const journey = input.journey === undefined ? undefined : checkedJourney(input.journey)
    const turn: SessionTurn & { readonly content: string } = {
      id: storable(input.turn_id ?? randomUUID()),
      role: input.role,
      content: storable(input.content),
      timestamp: Math.floor(this.#options.now() / 1000),
      context_files: (input.context_files ?? []).map(storable),
      ...(input.model_used === undefined ? {} : { model_used: storable(input.model_used) }),
      ...(input.tokens === undefined ? {} : { tokens: input.tokens }),
      ...(journey === undefined ? {} : { journey })
    }
    await this.#options.sessions.record(input.session_id, () => [{ event: 'turn_added', turn }])
    const entry = entryOf(turn)
    this.#options.recorded?.(input.session_id, entry)
    return entry
  }

  async history(session: string, limit = DEFAULT_LIMIT): Promise<readonly TranscriptEntry[]> {
    const turns = await this.#options.sessions.turns(session)
    return turns.slice(Math.max(0, turns.length - limit)).map(entryOf)
  }

  async routed(decision: {
    readonly journey_id: string
    readonly session_id: string
    readonly surface: string
    readonly model_id: string
    readonly reason: Readonly<Record<string, unknown>>
  }): Promise<void> {
    const store = await this.#options.store()
    if (store === null) return
    const { journey_id, session_id, surface, model_id, reason } = decision
    await store.execute(
      `INSERT INTO routing_decisions (journey_id, repository_id, session_id, surface, model_id, reason_json)
        VALUES (?, ?, ?, ?, ?, ?)`,
      [journey_id, this.#options.repositoryId, session_id, surface, model_id, JSON.stringify(reason)].map(storable)
    )
  }

  async reset(session: string): Promise<number> {
    let turns = 0
    let agent: number | null = null
    if ((await this.#options.sessions.view(session)) === null) return 0
    await this.#options.sessions.record(session, view => {
      turns = view?.turns ?? 0
      agent = view?.agent_id ?? null
      return [{ event: 'reset', turns }]
    })
    this.#options.wasReset(session, agent, turns)
    return turns
  }
}

function entryOf(turn: SessionTurn & { readonly content: string }): TranscriptEntry {
  const { id, role, content, timestamp, context_files, model_used, tokens } = turn
  return {
    id,
    role,
    content,
    timestamp,
    context_files,
    ...(model_used === undefined ? {} : { model_used }),
    ...(tokens === undefined ? {} : { tokens })
  }
}
