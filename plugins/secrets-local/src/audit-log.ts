import type { InStatement } from '@libsql/client/http'
import type { VaultAuditRow } from '@svc/contracts'
import type { VaultDatabase } from './database.ts'

/** Audit log of one account. */
export class AuditLog {
  readonly #database: VaultDatabase
  readonly #account: string
  readonly #isOn: boolean
  readonly #now: () => number

  constructor(database: VaultDatabase, account: string, isOn: boolean, now: () => number) {
    this.#database = database
    this.#account = account
    this.#isOn = isOn
    this.#now = now
  }

  /** Returns the statement that records an action; none if nothing is recorded. */
  entry(key: string, action: string, by: string, outcome: string, detail = ''): InStatement[] {
    if (!this.#isOn) return []
    return [
      {
        sql: 'INSERT INTO clavis_audit_log (at_ms, account_id, secret_id, action, actor, outcome, detail) VALUES (?, ?, ?, ?, ?, ?, ?)',
        args: [this.#now(), this.#account, key, action, by, outcome, detail]
      }
    ]
  }

  /** Returns the last rows, newest first. `before`: only rows with a smaller id. */
  async list(limit: number, key?: string, before?: number): Promise<readonly VaultAuditRow[]> {
    const rows = await this.#database.read(
      'SELECT id, at_ms, secret_id, action, actor, outcome, detail FROM clavis_audit_log WHERE account_id = ? ' +
        `${key === undefined ? '' : 'AND secret_id = ? '}${before === undefined ? '' : 'AND id < ? '}` +
        'ORDER BY id DESC LIMIT ?',
      [this.#account, ...(key === undefined ? [] : [key]), ...(before === undefined ? [] : [before]), limit]
    )
    return rows.map(row => ({
      id: Number(row.id),
      atMs: Number(row.at_ms),
      secret: String(row.secret_id),
      action: String(row.action),
      actor: String(row.actor),
      outcome: String(row.outcome),
      detail: String(row.detail)
    }))
  }
}
