import type { InStatement, ResultSet } from '@libsql/client/http'

const DAY_MS = 86_400_000
/** Writes between two runs. */
const INTERVAL = 100
/** Maximum rows that a run removes from each table, so that no change waits for a long one. */
const RETENTION_BATCH = 500

export interface RetentionLimits {
  /** Days after which rows are removed. */
  readonly days: number
  /** Maximum rows of an account. */
  readonly rows: number
}

/**
 * Removes old rows of the audit log and ended delegations of one account, in the transactions of other changes. It runs
 * with the first write of a process and then with every 100th, and with the next one if rows were left over.
 */
export class Retention {
  readonly #account: string
  readonly #limits: RetentionLimits
  readonly #now: () => number
  #writes = 0

  constructor(account: string, limits: RetentionLimits, now: () => number) {
    this.#account = account
    this.#limits = limits
    this.#now = now
  }

  /** Returns the statements to add to a write; none if no run is due. */
  statements(): InStatement[] {
    if (this.#writes++ % INTERVAL !== 0) return []
    const before = this.#now() - this.#limits.days * DAY_MS
    return [this.#oldAuditRows(before), this.#endedDelegations(before)]
  }

  /** Must be called with the results of the statements, if they were executed. */
  applied(results: readonly ResultSet[]): void {
    if (results.some(({ rowsAffected }) => rowsAffected >= RETENTION_BATCH)) this.#writes = 0
  }

  #oldAuditRows(before: number): InStatement {
    return {
      sql:
        'DELETE FROM clavis_audit_log WHERE id IN (SELECT id FROM ' +
        '(SELECT id, at_ms FROM clavis_audit_log WHERE account_id = ? ORDER BY id LIMIT ?) WHERE at_ms < ? OR id <= ' +
        'coalesce((SELECT id FROM clavis_audit_log WHERE account_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?), 0))',
      args: [this.#account, RETENTION_BATCH, before, this.#account, this.#limits.rows]
    }
  }

  /** A delegation ends when it is revoked or expires. Valid ones are never removed. */
  #endedDelegations(before: number): InStatement {
    const ended = 'min(expires_at_ms, coalesce(revoked_at_ms, expires_at_ms))'
    const now = this.#now()
    return {
      sql:
        'DELETE FROM clavis_agent_delegations WHERE delegation_id IN (SELECT delegation_id FROM ' +
        `(SELECT delegation_id, ${ended} AS ended_at_ms, row_number() OVER (ORDER BY ${ended} DESC, delegation_id) ` +
        `AS place FROM clavis_agent_delegations WHERE account_id = ? AND ${ended} <= ?) ` +
        'WHERE ended_at_ms < ? OR place > ? ORDER BY place DESC LIMIT ?)',
      args: [this.#account, now, before, this.#limits.rows, RETENTION_BATCH]
    }
  }
}
