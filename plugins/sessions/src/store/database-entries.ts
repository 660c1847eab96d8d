import { type ContextEntry, type DatabaseStore, rowsByName, type SqlResult } from '@svc/contracts'
import type { Change, Entries } from './entries.ts'

const COLUMNS = 'key, value, agent_id, updated_at_ms, expires_at_ms'
const LIVE = '(expires_at_ms IS NULL OR expires_at_ms > ?)'

/** Entries of one repository in the table `context_entries`. */
export class DatabaseEntries implements Entries {
  readonly #store: DatabaseStore
  readonly #repository: string

  constructor(store: DatabaseStore, repository: string) {
    this.#store = store
    this.#repository = repository
  }

  async get(key: string, now: number): Promise<ContextEntry | null> {
    return first(
      await this.#store.query(
        `SELECT ${COLUMNS} FROM context_entries WHERE repository_id = ? AND key = ? AND ${LIVE}`,
        [this.#repository, key, now]
      )
    )
  }

  async update(key: string, now: number, change: (entry: ContextEntry | null) => Change | null): Promise<void> {
    const where = [this.#repository, key]
    await this.#store.transaction(async tx => {
      // Expired rows are deleted at the next write: that is often enough, and needs no timer.
      await tx.execute('DELETE FROM context_entries WHERE repository_id = ? AND expires_at_ms <= ?', [
        this.#repository,
        now
      ])
      const existing = first(
        await tx.query(`SELECT ${COLUMNS} FROM context_entries WHERE repository_id = ? AND key = ?`, where)
      )
      const changed = change(existing)
      if (changed === null) return
      const { value, agent_id, expires_at_ms } = changed
      await tx.execute(
        `INSERT INTO context_entries (repository_id, key, value, agent_id, updated_at_ms, expires_at_ms)
          VALUES (?, ?, ?, ?, ?, ?)
          ON CONFLICT (repository_id, key) DO UPDATE SET value = excluded.value, agent_id = excluded.agent_id,
            updated_at_ms = excluded.updated_at_ms, expires_at_ms = excluded.expires_at_ms`,
        [...where, value, agent_id, now, expires_at_ms]
      )
    })
  }

  async remove(key: string, now: number): Promise<boolean> {
    const { changes } = await this.#store.execute(
      `DELETE FROM context_entries WHERE repository_id = ? AND key = ? AND ${LIVE}`,
      [this.#repository, key, now]
    )
    return changes > 0
  }

  async list(prefix: string, now: number): Promise<readonly ContextEntry[]> {
    return entriesOf(
      await this.#store.query(
        `SELECT ${COLUMNS} FROM context_entries
          WHERE repository_id = ? AND substr(key, 1, length(?)) = ? AND ${LIVE} ORDER BY key`,
        [this.#repository, prefix, prefix, now]
      )
    )
  }
}

function entriesOf(result: SqlResult): ContextEntry[] {
  return rowsByName(result).map(row => ({
    key: String(row.key),
    value: String(row.value),
    agent_id: row.agent_id === null ? null : Number(row.agent_id),
    updated_at_ms: Number(row.updated_at_ms),
    expires_at_ms: row.expires_at_ms === null ? null : Number(row.expires_at_ms)
  }))
}

function first(result: SqlResult): ContextEntry | null {
  return entriesOf(result)[0] ?? null
}
