import type { SqlValue } from '@svc/contracts'
import { searchErrors } from '../errors.ts'
import { wordsOf } from '../plan/words.ts'
import type { Library } from './library.ts'

export interface Memory {
  readonly key: string
  readonly title: string
  readonly body: string
  /** Such as `current`, `experimental` or `legacy`; it changes the score. */
  readonly status: string
  /** Author, file or URL; empty if unknown. */
  readonly source: string
  readonly created_at_ms: number
  readonly updated_at_ms: number
}

const COLUMNS = 'key, title, body, status, source, created_at_ms, updated_at_ms'

const UPSERT = `INSERT INTO memories (key, title, body, status, source, words, created_at_ms, updated_at_ms)
  VALUES (:key, :title, :body, :status, :source, :words, :now, :now)
  ON CONFLICT (key) DO UPDATE SET title = excluded.title, body = excluded.body, status = excluded.status,
    source = excluded.source, words = excluded.words, updated_at_ms = excluded.updated_at_ms`

/** Notes that agents and people keep under a key. All methods throw `SRH_DATABASE_MISSING` and the database's errors. */
export class Memories {
  readonly #library: Library
  readonly #now: () => number

  constructor(library: Library, now: () => number) {
    this.#library = library
    this.#now = now
  }

  /** Stores a note, or replaces the one with the same key. */
  async store(memory: Omit<Memory, 'created_at_ms' | 'updated_at_ms'>): Promise<Memory> {
    const words = wordsOf(`${memory.title} ${memory.body}`).length
    await this.#library.write([{ sql: UPSERT, parameters: { ...memory, words, now: this.#now() } }])
    return this.recall(memory.key)
  }

  /** Throws `SRH_MEMORY_UNKNOWN`. */
  async recall(key: string): Promise<Memory> {
    const [row] = await this.#library.rows(`SELECT ${COLUMNS} FROM memories WHERE key = ?`, [key])
    if (row !== undefined) return memoryOf(row)
    throw searchErrors.create('SRH_MEMORY_UNKNOWN', `no memory has the key "${key.slice(0, 200)}"`, {
      hint: 'svc memory list shows all keys'
    })
  }

  /** Returns memories whose keys begin with `prefix`, newest first. */
  async list(prefix: string, limit: number): Promise<readonly Memory[]> {
    const rows = await this.#library.rows(
      `SELECT ${COLUMNS} FROM memories WHERE substr(key, 1, length(:prefix)) = :prefix
        ORDER BY updated_at_ms DESC, key LIMIT :limit`,
      { prefix, limit }
    )
    return rows.map(memoryOf)
  }

  /** Returns false if there was none with this key. */
  async forget(key: string): Promise<boolean> {
    const changes = await this.#library.write([{ sql: 'DELETE FROM memories WHERE key = ?', parameters: [key] }])
    return changes > 0
  }
}

function memoryOf(row: Record<string, SqlValue>): Memory {
  const text = (name: string): string => String(row[name] ?? '')
  return {
    key: text('key'),
    title: text('title'),
    body: text('body'),
    status: text('status'),
    source: text('source'),
    created_at_ms: Number(row.created_at_ms),
    updated_at_ms: Number(row.updated_at_ms)
  }
}
