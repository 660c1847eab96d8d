import {
  type BudgetSignal,
  type DatabaseStore,
  type ExecutionTimeProfile,
  type ExecutionTimes,
  rowsByName
} from '@svc/contracts'
import type { Settings } from '../settings.ts'
import type { Clock, Transferable } from '../state/ports.ts'

export type ExecutionTimeSettings = Pick<
  Settings,
  | 'exec_time_budget_enabled'
  | 'exec_time_safety_multiplier'
  | 'exec_time_timeout_rate_alert'
  | 'exec_time_default_budget_ms'
  | 'exec_time_history_window_days'
>

type ExecutionOutcome = 'success' | 'timeout' | 'error'

interface Sample {
  readonly outcome: ExecutionOutcome
  readonly duration_ms: number
  readonly recorded_at_ms: number
}

export interface ExecutionTimeDependencies {
  readonly settings: () => ExecutionTimeSettings
  readonly now: Clock
  readonly repositoryId: string
  /** Returns the database; null while there is none: samples are then stored in memory. */
  readonly database: () => Pick<DatabaseStore, 'query' | 'execute'> | null
}

const DAY_MS = 86_400_000
/** Maximum samples of one tool in memory. */
const MAX_SAMPLES = 1_000
const MAX_TOOLS = 1_000
/** Milliseconds for which a profile is cached for budgets. */
const FRESH_MS = 30_000

/** Ledger of tool durations, from the rows of `agent_exec_history`. */
export class ExecutionTimeLedger implements ExecutionTimes, Transferable {
  readonly #deps: ExecutionTimeDependencies
  /** Samples by repository and tool, recorded while there was no database. */
  readonly #samples = new Map<string, Sample[]>()
  readonly #profiles = new Map<string, { readonly profile: ExecutionTimeProfile | null; readonly at: number }>()

  constructor(deps: ExecutionTimeDependencies) {
    this.#deps = deps
  }

  async record(sample: Parameters<ExecutionTimes['record']>[0]): Promise<void> {
    const repository = sample.repository_id ?? this.#deps.repositoryId
    const key = keyOf(repository, sample.tool_key)
    const at = this.#deps.now()
    const database = this.#deps.database()
    if (database === null) this.#keep(key, { ...sample, recorded_at_ms: at })
    else
      await database.execute(
        `INSERT INTO agent_exec_history (tool_key, repository_id, outcome, duration_ms, timeout_budget_ms, recorded_at)
         VALUES (?, ?, ?, ?, ?, ?)`,
        [sample.tool_key, repository, sample.outcome, sample.duration_ms, sample.timeout_budget_ms ?? null, at]
      )
    this.#profiles.delete(key)
  }

  async query(
    toolKey: string,
    options: { readonly repository_id?: string; readonly window_days?: number } = {}
  ): Promise<ExecutionTimeProfile | null> {
    const repository = options.repository_id ?? this.#deps.repositoryId
    const days = options.window_days ?? this.#deps.settings().exec_time_history_window_days
    const since = this.#deps.now() - days * DAY_MS
    const database = this.#deps.database()
    const found =
      database === null
        ? this.#inMemory(repository, toolKey, since)
        : await stored(database, repository, toolKey, since)
    return profileOf(this.#deps.settings(), toolKey, found)
  }

  async budgetFor(toolKey: string): Promise<{ readonly milliseconds: number; readonly signal: BudgetSignal }> {
    const settings = this.#deps.settings()
    const { exec_time_default_budget_ms: byDefault } = settings
    if (!settings.exec_time_budget_enabled) return { milliseconds: byDefault, signal: 'Normal' }
    const key = keyOf(this.#deps.repositoryId, toolKey)
    const now = this.#deps.now()
    let known = this.#profiles.get(key)
    if (known === undefined || now - known.at > FRESH_MS) {
      known = { profile: await this.query(toolKey), at: now }
      if (this.#profiles.size >= MAX_TOOLS) this.#profiles.clear()
      this.#profiles.set(key, known)
    }
    const { profile } = known
    if (profile === null) return { milliseconds: byDefault, signal: 'ToolLatencyUnknown' }
    return { milliseconds: profile.recommended_budget_ms, signal: profile.signal }
  }

  /** Returns the samples recorded without a database. */
  exportState(): ReadonlyMap<string, Sample[]> {
    return this.#samples
  }

  importState(state: unknown): void {
    for (const [key, samples] of state as ReadonlyMap<string, Sample[]>) this.#samples.set(key, samples)
  }

  #keep(key: string, { outcome, duration_ms, recorded_at_ms }: Sample): void {
    const samples = this.#samples.get(key) ?? []
    samples.push({ outcome, duration_ms, recorded_at_ms })
    if (samples.length > MAX_SAMPLES) samples.shift()
    this.#samples.set(key, samples)
    if (this.#samples.size <= MAX_TOOLS) return
    for (const oldest of this.#samples.keys()) {
      this.#samples.delete(oldest)
      return
    }
  }

  #inMemory(repository: string, toolKey: string, since: number): Summary {
    const samples = (this.#samples.get(keyOf(repository, toolKey)) ?? []).filter(each => each.recorded_at_ms >= since)
    const durations = samples
      .filter(sample => sample.outcome === 'success')
      .map(sample => sample.duration_ms)
      .sort((a, b) => a - b)
    return {
      total: samples.length,
      timeouts: samples.filter(sample => sample.outcome === 'timeout').length,
      successes: durations.length,
      sum: durations.reduce((sum, each) => sum + each, 0),
      max: durations.at(-1) ?? 0,
      p90: durations[p90Index(durations.length)] ?? 0
    }
  }
}

interface Summary {
  readonly total: number
  readonly timeouts: number
  readonly successes: number
  /** Total milliseconds of successful calls. */
  readonly sum: number
  readonly max: number
  readonly p90: number
}

/** Returns the index of the 90th percentile among `count` sorted values: max(0, ceil(0.9 count) - 1). */
export function p90Index(count: number): number {
  // Integer arithmetic: 0.9 * count is rounded up to the wrong integer for some counts.
  return Math.max(0, Math.ceil((9 * count) / 10) - 1)
}

function profileOf(settings: ExecutionTimeSettings, tool: string, found: Summary): ExecutionTimeProfile | null {
  if (found.total === 0) return null
  const timeout_rate = found.timeouts / found.total
  const isSlow = timeout_rate > settings.exec_time_timeout_rate_alert
  return {
    tool_key: tool,
    sample_count: found.successes,
    avg_ms: found.successes === 0 ? 0 : found.sum / found.successes,
    p90_ms: found.p90,
    max_ms: found.max,
    timeout_rate,
    // If no call succeeded, the duration is unknown.
    recommended_budget_ms:
      found.successes === 0
        ? settings.exec_time_default_budget_ms
        : Math.max(1, Math.ceil(found.p90 * settings.exec_time_safety_multiplier)),
    signal: isSlow ? 'ToolLatencyHigh' : found.successes === 0 ? 'ToolLatencyUnknown' : 'Normal'
  }
}

async function stored(
  database: Pick<DatabaseStore, 'query'>,
  repository: string,
  tool: string,
  since: number
): Promise<Summary> {
  const where = { tool, repository, since }
  const counted = await database.query(
    `SELECT count(*) AS total, sum(outcome = 'timeout') AS timeouts, sum(outcome = 'success') AS successes,
            sum(CASE WHEN outcome = 'success' THEN duration_ms END) AS sum,
            max(CASE WHEN outcome = 'success' THEN duration_ms END) AS max
       FROM agent_exec_history WHERE tool_key = :tool AND repository_id = :repository AND recorded_at >= :since`,
    where
  )
  const row = rowsByName(counted)[0] ?? {}
  const successes = Number(row.successes ?? 0)
  const percentile = await database.query(
    `SELECT duration_ms FROM agent_exec_history
      WHERE tool_key = :tool AND repository_id = :repository AND recorded_at >= :since AND outcome = 'success'
      ORDER BY duration_ms LIMIT 1 OFFSET :index`,
    { ...where, index: p90Index(successes) }
  )
  return {
    total: Number(row.total ?? 0),
    timeouts: Number(row.timeouts ?? 0),
    successes,
    sum: Number(row.sum ?? 0),
    max: Number(row.max ?? 0),
    p90: Number(percentile.rows[0]?.[0] ?? 0)
  }
}

function keyOf(repository: string, tool: string): string {
  return `${repository}\u0000${tool}`
}
