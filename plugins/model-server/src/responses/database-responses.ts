import { type DatabaseStore, rowsByName, type SqlResult } from '@svc/contracts'
import {
  MAX_CHAIN,
  MAX_CHAIN_CHARACTERS,
  MAX_RESPONSES,
  type ResponseStore,
  type StoredResponse
} from './response-store.ts'

const DAY_MS = 86_400_000
const PRUNE_EVERY_MS = 3_600_000
const PRUNE_EVERY_RESPONSES = 100
const TABLE = `CREATE TABLE IF NOT EXISTS model_responses (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  previous_id TEXT,
  response_json TEXT NOT NULL,
  input_json TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS model_responses_created ON model_responses (created_at_ms);`
const COLUMNS = 'id, previous_id, response_json, input_json'
const PRUNE = `DELETE FROM model_responses WHERE created_at_ms < :before OR id IN (
  SELECT id FROM model_responses ORDER BY created_at_ms DESC LIMIT -1 OFFSET ${MAX_RESPONSES})`
/** The chain of a response. `characters`: size of this response and those after it. */
const CHAIN = `WITH RECURSIVE chain (id, previous_id, response_json, input_json, depth, characters) AS (
  SELECT ${COLUMNS}, 0, length(response_json) + length(input_json) FROM model_responses WHERE id = :id AND owner = :owner
  UNION ALL
  SELECT r.id, r.previous_id, r.response_json, r.input_json, c.depth + 1,
    c.characters + length(r.response_json) + length(r.input_json)
  FROM chain AS c JOIN model_responses AS r ON r.id = c.previous_id
  WHERE r.owner = :owner AND c.depth + 1 < ${MAX_CHAIN} AND c.characters < ${MAX_CHAIN_CHARACTERS}
) SELECT ${COLUMNS} FROM chain ORDER BY depth DESC`

/** Keeps responses in the database for a number of days. */
export class DatabaseResponses implements ResponseStore {
  readonly durable = true
  readonly #store: DatabaseStore
  readonly #days: () => number
  readonly #now: () => number
  #ready: Promise<void> | null = null
  #prunedAt = Number.NEGATIVE_INFINITY
  #savedSince = 0

  constructor(store: DatabaseStore, days: () => number, now: () => number = Date.now) {
    this.#store = store
    this.#days = days
    this.#now = now
  }

  prepare(): Promise<void> {
    this.#ready ??= this.#store.migrate(TABLE).catch((error: unknown) => {
      this.#ready = null
      throw error
    })
    return this.#ready
  }

  async save(owner: string, { id, previousId, response, input }: StoredResponse): Promise<void> {
    await this.prepare()
    const now = this.#now()
    await this.#store.execute(
      `INSERT INTO model_responses (${COLUMNS}, owner, created_at_ms) VALUES (?, ?, ?, ?, ?, ?)`,
      [id, previousId, JSON.stringify(response), JSON.stringify(input), owner, now]
    )
    this.#savedSince += 1
    if (now - this.#prunedAt < PRUNE_EVERY_MS && this.#savedSince < PRUNE_EVERY_RESPONSES) return
    this.#prunedAt = now
    this.#savedSince = 0
    await this.#store.execute(PRUNE, { before: now - this.#days() * DAY_MS })
  }

  async find(owner: string, ids: readonly string[]): Promise<readonly StoredResponse[]> {
    await this.prepare()
    const sql = `SELECT ${COLUMNS} FROM model_responses WHERE owner = :owner
      AND id IN (SELECT value FROM json_each(:ids))`
    return storedResponses(await this.#store.query(sql, { owner, ids: JSON.stringify(ids) }))
  }

  async chain(owner: string, id: string): Promise<readonly StoredResponse[]> {
    await this.prepare()
    return storedResponses(await this.#store.query(CHAIN, { owner, id }))
  }

  async delete(owner: string, id: string): Promise<boolean> {
    await this.prepare()
    const sql = 'DELETE FROM model_responses WHERE id = :id AND owner = :owner'
    return (await this.#store.execute(sql, { owner, id })).changes > 0
  }
}

function storedResponses(result: SqlResult): readonly StoredResponse[] {
  return rowsByName(result).map(row => ({
    id: row.id as string,
    previousId: row.previous_id as string | null,
    response: JSON.parse(row.response_json as string) as StoredResponse['response'],
    input: JSON.parse(row.input_json as string) as StoredResponse['input']
  }))
}
