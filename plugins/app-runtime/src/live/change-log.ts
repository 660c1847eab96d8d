import type { DatabaseStore } from '@svc/contracts'
import { CHANGES_TABLE } from '../schema/triggers.ts'

/** One committed change of a row: an insert, update or delete. */
export interface Change {
  /** Increases by one with each change, in commit order. */
  readonly id: number
  /** Name of the table in the database. */
  readonly table: string
  readonly op: 'insert' | 'update' | 'delete'
  readonly row: number
  /** Milliseconds since 1970. */
  readonly at: number
}

/** Log of changes. Database triggers write it, so it includes the changes of other threads and processes. */
export class ChangeLog {
  readonly #store: Pick<DatabaseStore, 'query'>

  constructor(store: Pick<DatabaseStore, 'query'>) {
    this.#store = store
  }

  /** Returns the id of the last change; 0 if there is none. */
  async newest(): Promise<number> {
    const { rows } = await this.#store.query(`SELECT seq FROM sqlite_sequence WHERE name = '${CHANGES_TABLE}'`)
    return Number(rows[0]?.[0] ?? 0)
  }

  /** Returns at most `limit` changes after an id, oldest first. */
  async after(id: number, limit: number): Promise<Change[]> {
    const { rows } = await this.#store.query(
      `SELECT id, table_name, op, row_id, at FROM ${CHANGES_TABLE} WHERE id > ? ORDER BY id LIMIT ?`,
      [id, limit]
    )
    return rows.map(([number, table, op, row, at]) => ({
      id: Number(number),
      table: String(table),
      op: op as Change['op'],
      row: Number(row),
      at: Number(at)
    }))
  }
}
