import { type DatabaseStore, rowsByName, type SqlParameter } from '@svc/contracts'
import { type InputOf, isSvcError, type OutputOf } from '@svc/plugin-sdk'
import { pluginErrors } from '../errors.ts'
import type * as operations from './operations.ts'

type In<K extends keyof typeof operations> = InputOf<(typeof operations)[K]>
type Out<K extends keyof typeof operations> = OutputOf<(typeof operations)[K]>

/** Table that only this API uses; it is not part of the baseline. */
const RESEARCH_TABLE = `
CREATE TABLE IF NOT EXISTS codex_research_sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_key TEXT NOT NULL,
  repository_id TEXT,
  title TEXT,
  status TEXT NOT NULL DEFAULT 'open',
  config_json TEXT,
  summary_json TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  updated_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE UNIQUE INDEX IF NOT EXISTS codex_research_sessions_key
  ON codex_research_sessions (session_key, coalesce(repository_id, ''));
`

/** A change in the log of a topic. */
export interface LoggedChange {
  readonly id: number
  readonly topic: string
  readonly entity_kind: string | null
  readonly entity_id: string | null
  readonly change_kind: string
  readonly payload: unknown
  readonly created_at: string
}

/** Database access of the routes under `/api/codex`. */
export class Codex {
  readonly #store: DatabaseStore
  readonly #onChange: () => void
  #research: Promise<void> | null = null

  /** `onChange` is called after each change by this process. */
  constructor(store: DatabaseStore, onChange: () => void) {
    this.#store = store
    this.#onChange = onChange
  }

  async query({ name }: In<'codexQuery'>): Promise<Out<'codexQuery'>> {
    const { rows } = await this.#store.query(
      'SELECT snapshot_json, updated_at FROM codex_query_snapshots WHERE name = ?',
      [name]
    )
    const [row] = rows
    if (row === undefined)
      throw pluginErrors.create('DBP_CODEX_UNKNOWN', `the query ${JSON.stringify(name)} has no snapshot`)
    return { name, snapshot: jsonOf(row[0]), updated_at: String(row[1]) }
  }

  async mutate({ name, ...change }: In<'codexMutate'>): Promise<Out<'codexMutate'>> {
    const id = await this.#insert('codex_change_log', {
      topic: name,
      entity_kind: change.entity_kind ?? null,
      entity_id: change.entity_id ?? null,
      change_kind: change.change_kind,
      payload_json: textOf(change.payload)
    })
    this.#onChange()
    return { id }
  }

  /** Returns the changes of a topic after an id, in order. */
  async changes(topic: string, after: number, limit: number): Promise<readonly LoggedChange[]> {
    const result = await this.#store.query(
      `SELECT id, topic, entity_kind, entity_id, change_kind, payload_json, created_at FROM codex_change_log
       WHERE topic = ? AND id > ? ORDER BY id LIMIT ?`,
      [topic, after, limit]
    )
    return rowsByName(result).map(({ payload_json, ...row }) => ({ ...row, payload: jsonOf(payload_json) }) as never)
  }

  async searchStatus(): Promise<Out<'searchStatus'>> {
    const tables = ['search_documents', 'search_document_chunks', 'search_indexing_jobs'] as const
    const counts = tables.map(table => `(SELECT count(*) FROM ${table}) AS ${table}`)
    return rowsByName(await this.#store.query(`SELECT ${counts.join(', ')}`))[0] as never
  }

  async researchSession(input: In<'codexResearchSession'>): Promise<Out<'codexResearchSession'>> {
    await this.#researchTable()
    const { session_key, title = null, status = null, repository_id = null } = input
    const { rows } = await this.#store.execute(
      `INSERT INTO codex_research_sessions (session_key, repository_id, title, status, config_json, summary_json)
       VALUES (:session_key, :repository_id, :title, coalesce(:status, 'open'), :config, :summary)
       ON CONFLICT (session_key, coalesce(repository_id, '')) DO UPDATE SET
         title = coalesce(:title, title), status = coalesce(:status, status),
         config_json = coalesce(:config, config_json), summary_json = coalesce(:summary, summary_json),
         updated_at = datetime('now')
       RETURNING id`,
      {
        session_key,
        repository_id,
        title,
        status,
        config: textOf(input.config_json),
        summary: textOf(input.summary_json)
      }
    )
    return { id: Number(rows[0]?.[0]), session_key, repository_id }
  }

  async conversationVersion(input: In<'codexConversationVersion'>): Promise<Out<'codexConversationVersion'>> {
    const { id: conversation, version_index, label = null } = input
    const known = await this.#store.query('SELECT 1 FROM conversations WHERE id = ?', [conversation])
    if (known.rows.length === 0)
      throw pluginErrors.create('DBP_CODEX_UNKNOWN', `the conversation ${conversation} does not exist`)
    const row = { conversation_id: conversation, version_index, label }
    const id = await this.#insert('conversation_versions', { ...row, snapshot_json: textOf(input.snapshot_json) })
    return {
      id,
      ...row,
      snapshot_json: input.snapshot_json ?? null,
      created_at: await this.#madeAt('conversation_versions', id)
    }
  }

  async conversationEdge(input: In<'codexConversationEdge'>): Promise<Out<'codexConversationEdge'>> {
    const { metadata_json, ...edge } = input
    return { id: await this.#insert('conversation_edges', { ...edge, metadata_json: textOf(metadata_json) }) }
  }

  async topicEvolution(input: In<'codexTopicEvolution'>): Promise<Out<'codexTopicEvolution'>> {
    const { id: topic_id, event_kind, prior_label = null, new_label = null, detail_json } = input
    const row = { topic_id, event_kind, prior_label, new_label }
    const id = await this.#insert('topic_evolution_events', { ...row, detail_json: textOf(detail_json) })
    return {
      id,
      ...row,
      detail_json: detail_json ?? null,
      created_at: await this.#madeAt('topic_evolution_events', id)
    }
  }

  /** Inserts a row. Names of tables and columns must be constants, since they become part of the SQL. */
  async #insert(table: string, row: Readonly<Record<string, SqlParameter>>): Promise<number> {
    const columns = Object.keys(row)
    try {
      const { lastInsertId } = await this.#store.execute(
        `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(column => `:${column}`).join(', ')})`,
        row
      )
      return Number(lastInsertId)
    } catch (error) {
      if (!isSvcError(error, 'DBS_CONSTRAINT')) throw error
      throw pluginErrors.create(
        'DBP_CODEX_REFUSED',
        `${table} does not accept ${JSON.stringify(row)}: ${error.message}`,
        {
          cause: error,
          hint: 'referenced objects must exist, and unique ones must not'
        }
      )
    }
  }

  async #madeAt(table: string, id: number): Promise<string> {
    const { rows } = await this.#store.query(`SELECT created_at FROM ${table} WHERE id = ?`, [id])
    return String(rows[0]?.[0])
  }

  #researchTable(): Promise<void> {
    this.#research ??= this.#store.migrate(RESEARCH_TABLE).catch(error => {
      this.#research = null
      throw error
    })
    return this.#research
  }
}

function textOf(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value)
}

/** Parses a column written by another program; returns the string itself if it is not JSON. */
function jsonOf(text: unknown): unknown {
  if (typeof text !== 'string') return null
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
