import { type DatabaseStore, rowsByName, type SqlStatement } from '@svc/contracts'
import { eventOf, type SessionEvent, type SessionStateName, type SessionView } from './session-state.ts'

/** Database rows of sessions: `agent_sessions`, `agent_session_events`, and messages in both transcript tables. */
export class SessionRows {
  readonly #store: DatabaseStore
  readonly #repository: string

  constructor(store: DatabaseStore, repository: string) {
    this.#store = store
    this.#repository = repository
  }

  /** Returns the events of rows after `after`, without messages, and the id of the last row. */
  async eventsAfter(session: string, after: number): Promise<{ events: SessionEvent[]; last: number }> {
    const { rows } = await this.#store.query(
      'SELECT id, payload_json FROM agent_session_events WHERE session_id = ? AND id > ? ORDER BY id',
      [this.#rowId(session), after]
    )
    const events = rows.flatMap(([, json]) => eventOf(parsed(json), String(json)) ?? [])
    return { events, last: Number(rows.at(-1)?.[0] ?? after) }
  }

  /** Returns the messages of a session by turn id. */
  async contents(session: string): Promise<Map<string, string>> {
    const { rows } = await this.#store.query(
      `SELECT m.external_turn_id, m.content_text FROM conversation_messages AS m
        JOIN conversations AS c ON c.id = m.conversation_id
        WHERE c.repository_id = ? AND c.external_session_id = ? AND m.external_turn_id IS NOT NULL`,
      [this.#repository, session]
    )
    return new Map(rows.map(([id, text]) => [String(id), String(text)]))
  }

  /** Writes events with their messages in one transaction. `view` is the resulting session. */
  async write(view: SessionView, events: readonly SessionEvent[]): Promise<void> {
    await this.#store.batch([this.#sessionRow(view), ...events.flatMap(event => this.#eventRows(view, event))])
  }

  async views(): Promise<SessionView[]> {
    const result = await this.#store.query('SELECT * FROM agent_sessions WHERE repository_id = ?', [this.#repository])
    return rowsByName(result).map(row => {
      const { turns = 0, tokens = 0, meta = {} } = (parsed(row.metadata_json) ?? {}) as Partial<SessionView>
      return {
        session_id: this.#sessionOf(String(row.id)),
        agent_id: row.agent_id === null ? null : Number(row.agent_id),
        repository_id: this.#repository,
        state: String(row.state) as SessionStateName,
        created_at_ms: Number(row.created_at_ms),
        updated_at_ms: Number(row.updated_at_ms),
        turns,
        tokens,
        meta
      }
    })
  }

  #sessionRow({
    session_id,
    agent_id,
    state,
    created_at_ms,
    updated_at_ms,
    turns,
    tokens,
    meta
  }: SessionView): SqlStatement {
    return {
      sql: `INSERT INTO agent_sessions (id, agent_id, repository_id, state, metadata_json, created_at_ms, updated_at_ms)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET agent_id = coalesce(excluded.agent_id, agent_id), state = excluded.state,
          metadata_json = excluded.metadata_json, updated_at_ms = excluded.updated_at_ms`,
      parameters: [
        this.#rowId(session_id),
        agent_id === null ? null : String(agent_id),
        this.#repository,
        state,
        JSON.stringify({ turns, tokens, meta }),
        created_at_ms,
        updated_at_ms
      ]
    }
  }

  #eventRows({ session_id }: SessionView, event: SessionEvent): SqlStatement[] {
    const row: SqlStatement = {
      sql: 'INSERT INTO agent_session_events (session_id, event_type, payload_json, created_at_ms) VALUES (?, ?, ?, ?)',
      parameters: [this.#rowId(session_id), event.event, JSON.stringify(withoutContent(event)), event.at]
    }
    if (event.event === 'turn_added') return [row, ...this.#turnRows(session_id, event)]
    return event.event === 'reset' ? [row, ...this.#forget(session_id)] : [row]
  }

  #turnRows(session: string, { at, turn }: Extract<SessionEvent, { event: 'turn_added' }>): SqlStatement[] {
    const { id, role, content = '', model_used = null, tokens = null, context_files, journey } = turn
    const files = JSON.stringify(context_files)
    const time = new Date(at).toISOString().slice(0, 19).replace('T', ' ')
    return [
      {
        sql: `INSERT INTO chat_transcripts
          (session_id, role, content, model_used, tokens, context_files, repository_id, created_at)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        parameters: [session, role, content, model_used, tokens, files, this.#repository, time]
      },
      {
        sql: `INSERT INTO conversations (repository_id, external_session_id, thread_id, origin_surface, created_at, updated_at)
          VALUES (?, ?, ?, ?, ?, ?)
          ON CONFLICT (repository_id, external_session_id)
            WHERE repository_id IS NOT NULL AND external_session_id IS NOT NULL
          DO UPDATE SET updated_at = excluded.updated_at`,
        parameters: [this.#repository, session, journey?.thread_id ?? null, journey?.origin_surface ?? null, time, time]
      },
      {
        sql: `INSERT INTO conversation_messages (conversation_id, role, content_text, payload_json, external_turn_id,
            model_used, token_count, context_files_json, created_at)
          SELECT id, ?, ?, ?, ?, ?, ?, ?, ? FROM conversations WHERE repository_id = ? AND external_session_id = ?`,
        parameters: [
          role,
          content,
          journey === undefined ? null : JSON.stringify({ journey }),
          id,
          model_used,
          tokens,
          files,
          time,
          this.#repository,
          session
        ]
      }
    ]
  }

  #forget(session: string): SqlStatement[] {
    const parameters = [this.#repository, session]
    return [
      { sql: 'DELETE FROM chat_transcripts WHERE repository_id = ? AND session_id = ?', parameters },
      {
        sql: `DELETE FROM conversation_messages WHERE conversation_id IN
          (SELECT id FROM conversations WHERE repository_id = ? AND external_session_id = ?)`,
        parameters
      }
    ]
  }

  /** Returns the key of a session's row. It includes the repository: each repository has names such as `default`. */
  #rowId(session: string): string {
    return `${this.#repository}:${session}`
  }

  #sessionOf(rowId: string): string {
    const prefix = `${this.#repository}:`
    return rowId.startsWith(prefix) ? rowId.slice(prefix.length) : rowId
  }
}

function withoutContent(event: SessionEvent): SessionEvent {
  if (event.event !== 'turn_added') return event
  const { content: _, ...turn } = event.turn
  return { ...event, turn }
}

function parsed(json: unknown): unknown {
  try {
    return typeof json === 'string' ? JSON.parse(json) : null
  } catch {
    return null
  }
}
