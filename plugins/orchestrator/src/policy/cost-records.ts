import { type CostRecord, type DatabaseStore, rowsByName, type SqlValue } from '@svc/contracts'
import type { TableRow } from '../state/changes.ts'
import type { TimedCost } from './budgets.ts'

/** Maximum rows of one history query. */
const MAX_ROWS = 10_000

/** Returns the row of `cost_records` for a cost. `now`: Unix milliseconds. */
export function costRow(cost: CostRecord, now: number): TableRow {
  return {
    table: 'cost_records',
    values: {
      agent_id: String(cost.agent_id),
      session_id: cost.session_id ?? null,
      tenant_id: cost.tenant_id ?? null,
      provider: cost.provider,
      model: cost.model,
      input_tokens: cost.input_tokens,
      output_tokens: cost.output_tokens,
      cost_usd: cost.cost_usd,
      timestamp: sqlTime(now)
    }
  }
}

/** Reads the costs of all processes from the database, newest last. */
export async function costHistory(
  database: Pick<DatabaseStore, 'query'>,
  filter: { readonly agent_id?: number; readonly limit?: number } = {}
): Promise<readonly TimedCost[]> {
  const limit = Math.min(Math.max(0, filter.limit ?? 1_000), MAX_ROWS)
  const agent = filter.agent_id === undefined ? null : String(filter.agent_id)
  const found = await database.query(
    `SELECT agent_id, session_id, tenant_id, provider, model, input_tokens, output_tokens, cost_usd, timestamp
       FROM cost_records WHERE :agent IS NULL OR agent_id = :agent ORDER BY id DESC LIMIT :limit`,
    { agent, limit }
  )
  return rowsByName(found).map(costOf).reverse()
}

function costOf(row: Readonly<Record<string, SqlValue>>): TimedCost {
  return {
    agent_id: Number(row.agent_id),
    ...(row.session_id === null ? {} : { session_id: String(row.session_id) }),
    ...(row.tenant_id === null ? {} : { tenant_id: String(row.tenant_id) }),
    provider: String(row.provider),
    model: String(row.model),
    input_tokens: Number(row.input_tokens),
    output_tokens: Number(row.output_tokens),
    cost_usd: Number(row.cost_usd),
    timestamp_ms: Date.parse(`${String(row.timestamp).replace(' ', 'T')}Z`)
  }
}

/** Formats a time as SQLite's `datetime('now')` does, with milliseconds. */
function sqlTime(now: number): string {
  return new Date(now).toISOString().replace('T', ' ').replace('Z', '')
}
