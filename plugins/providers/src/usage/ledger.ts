import type { CollectionFilter, DatabaseCollection, DatabaseCollections } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import type { ModelEntry } from '../registry/entry.ts'
import { usageModel } from './limits.ts'

/** Row of the collection `provider_usage`: the calls of one model on one day for one kind of task. */
export type UsageRow = {
  readonly user_id: string
  readonly provider: string
  /** `:free` for the free models of OpenRouter, `*` for local models. */
  readonly model: string
  /** UTC day, such as 2026-01-31. */
  readonly date: string
  readonly task_category: string
  readonly agent_id: string | null
  readonly calls: number
  readonly tokens_in: number
  readonly tokens_out: number
  /** Reported costs, and estimates where none was reported. */
  readonly cost_usd: number
  readonly provider_request_id: string | null
  readonly provider_reported_cost_usd: number | null
  readonly estimated_cost_usd: number
  readonly reconciled_cost_usd: number | null
  readonly cost_source: 'provider' | 'estimate' | 'mixed' | null
  readonly is_rate_limited: boolean
  /** Unix milliseconds; null if there was none. */
  readonly last_429: number | null
  /** Unix milliseconds until which the model gets no requests; null if it is usable. */
  readonly cool_down_until: number | null
}

export interface UsageCall {
  readonly entry: Pick<ModelEntry, 'provider' | 'id'>
  readonly category: string
  readonly agent: string | null
  readonly inputTokens: number
  readonly outputTokens: number
  readonly estimatedUsd: number
  /** Null if the provider reports no cost. */
  readonly reportedUsd: number | null
  readonly requestId: string | null
}

export interface LedgerParts {
  /** Undefined while the database is disabled; rows are then kept in memory. */
  readonly collections: () => DatabaseCollections | undefined
  readonly log: Logger
  /** Called after rows have changed. */
  readonly changed: () => void
  readonly now?: () => number
}

const USER = 'global'
const COLLECTION = 'provider_usage'
const WARN_EVERY_MS = 60_000
/** Category of marks, which belong to a model, not to a kind of task. */
const ANY = '*'
const MAX_ROWS = 10_000

/** Counts calls, tokens and costs, and marks models that reject requests. Never fails a request to a model. */
export class UsageLedger {
  readonly #parts: LedgerParts
  readonly #now: () => number
  /** Rows that the database did not take, by their key. */
  readonly #memory = new Map<string, UsageRow>()
  #queue: Promise<void> = Promise.resolve()
  #warnedAt = -Infinity

  constructor(parts: LedgerParts) {
    this.#parts = parts
    this.#now = parts.now ?? Date.now
  }

  /** Counts an answer. The row is written in the background. */
  record(call: UsageCall): void {
    const { entry, category, agent, inputTokens, outputTokens, estimatedUsd, reportedUsd, requestId } = call
    this.#change(entry, category, agent, row => {
      const source = reportedUsd === null ? 'estimate' : 'provider'
      const reported =
        reportedUsd === null ? row.provider_reported_cost_usd : (row.provider_reported_cost_usd ?? 0) + reportedUsd
      return {
        ...row,
        calls: row.calls + 1,
        tokens_in: row.tokens_in + inputTokens,
        tokens_out: row.tokens_out + outputTokens,
        cost_usd: row.cost_usd + (reportedUsd ?? estimatedUsd),
        provider_request_id: requestId ?? row.provider_request_id,
        provider_reported_cost_usd: reported,
        estimated_cost_usd: row.estimated_cost_usd + estimatedUsd,
        reconciled_cost_usd: reported,
        cost_source: row.cost_source === null || row.cost_source === source ? source : 'mixed'
      }
    })
  }

  /** Marks a model after HTTP 429 (`rate-limit`) or another fault. */
  mark(entry: Pick<ModelEntry, 'provider' | 'id'>, kind: 'rate-limit' | 'fault', coolDownMs: number): void {
    const now = this.#now()
    this.#change(entry, ANY, null, row => ({
      ...row,
      ...(kind === 'rate-limit' ? { is_rate_limited: true, last_429: now } : {}),
      cool_down_until: now + coolDownMs
    }))
  }

  /** Removes the mark of a model that answers again. */
  clear(entry: Pick<ModelEntry, 'provider' | 'id'>): void {
    this.#change(entry, ANY, null, row => ({ ...row, is_rate_limited: false, cool_down_until: null }))
  }

  /** Returns the rows of a UTC day; today by default. */
  async rows(date = this.today()): Promise<readonly UsageRow[]> {
    return this.find({ date })
  }

  async find(filter: CollectionFilter): Promise<readonly UsageRow[]> {
    await this.flush()
    const kept = [...this.#memory.values()].filter(row =>
      Object.entries(filter).every(([field, value]) => row[field as keyof UsageRow] === value)
    )
    const collection = this.#collection()
    if (collection === undefined) return kept
    try {
      const found = await collection.find(filter, { limit: MAX_ROWS })
      return [...found.map(({ data }) => data), ...kept]
    } catch (error) {
      this.#warn(error)
      return kept
    }
  }

  /** UTC day. */
  today(): string {
    return new Date(this.#now()).toISOString().slice(0, 10)
  }

  /** Resolves when everything that was recorded is stored. */
  flush(): Promise<void> {
    return this.#queue
  }

  #collection(): DatabaseCollection<UsageRow> | undefined {
    return this.#parts.collections()?.collection<UsageRow>(COLLECTION, { index: 'date' })
  }

  #change(
    entry: Pick<ModelEntry, 'provider' | 'id'>,
    category: string,
    agent: string | null,
    change: (row: UsageRow) => UsageRow
  ): void {
    const key = {
      user_id: USER,
      provider: entry.provider,
      model: usageModel(entry),
      date: this.today(),
      task_category: category,
      agent_id: agent
    }
    this.#queue = this.#queue.then(async () => {
      const collection = this.#collection()
      try {
        if (collection !== undefined) {
          await collection.upsert(key, current => change(current ?? { ...EMPTY, ...key }))
          return
        }
      } catch (error) {
        this.#warn(error)
      }
      const name = JSON.stringify(key)
      this.#memory.set(name, change(this.#memory.get(name) ?? { ...EMPTY, ...key }))
      const [oldest] = this.#memory.keys()
      if (this.#memory.size > MAX_ROWS && oldest !== undefined) this.#memory.delete(oldest)
    })
    void this.#queue.then(this.#parts.changed)
  }

  #warn(error: unknown): void {
    if (performance.now() - this.#warnedAt < WARN_EVERY_MS) return
    this.#warnedAt = performance.now()
    this.#parts.log.warn('the usage of models is kept in memory only', { reason: errorMessage(error) })
  }
}

const EMPTY: Omit<UsageRow, 'user_id' | 'provider' | 'model' | 'date' | 'task_category' | 'agent_id'> = {
  calls: 0,
  tokens_in: 0,
  tokens_out: 0,
  cost_usd: 0,
  provider_request_id: null,
  provider_reported_cost_usd: null,
  estimated_cost_usd: 0,
  reconciled_cost_usd: null,
  cost_source: null,
  is_rate_limited: false,
  last_429: null,
  cool_down_until: null
}
