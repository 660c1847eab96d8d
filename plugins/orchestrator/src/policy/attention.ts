import type {
  AgentEventKind,
  Attention,
  AttentionEvent,
  AttentionEventKind,
  AttentionState,
  FocusDepth,
  InterruptionDecision,
  InterruptionOutcome,
  InterruptionSignals
} from '@svc/contracts'
import type { Settings } from '../settings.ts'
import type { Clock, Ledger, Transferable } from '../state/ports.ts'
import { judgeInterruption } from './interruption.ts'

export type AttentionSettings = Pick<
  Settings,
  | 'attention_enabled'
  | 'attention_budget_ms'
  | 'attention_alert_threshold'
  | 'attention_interrupt_cost_ms'
  | 'interruption_calibration'
>

const MAX_EVENTS = 100
const HOUR_MS = 3_600_000
/** Minimum gap between interruptions in the rate, so that two within a second do not count as thousands an hour. */
const MIN_GAP_MS = 60_000
const FREQUENCY_WEIGHT = 0.2

/** Fatigue: more than 25 interruptions without a gap of 5 minutes, or a session of more than 4 hours. */
const MAX_SWITCHES = 25
const SWITCH_GAP_MS = 5 * 60_000
const MAX_SESSION_MS = 4 * HOUR_MS
/** Idle time after which a new session starts. */
const SESSION_GAP_MS = 30 * 60_000

/** Event kind that is recorded for each outcome. */
const NOTED_AS: Readonly<Record<InterruptionOutcome, AttentionEventKind>> = {
  InterruptNow: 'Interrupted',
  RequireHuman: 'Interrupted',
  ProceedAutonomously: 'PolicyProceedAuto',
  BatchWithExisting: 'PolicyDeferred',
  DeferUntilCheckpoint: 'PolicyDeferred'
}

interface Account {
  /** Budget in milliseconds; null if the setting applies. */
  max_ms: number | null
  spent_ms: number
  total_requests: number
  auto_approved: number
  rejected: number
  frequency: number
  last_interrupt_ms: number | null
  suppressed: number
  switches: number
  session_start_ms: number | null
  last_activity_ms: number | null
}

/**
 * Attention budget of the user: one per process, stored as the record `attention/global`.
 *
 * `decide` only judges and records. The caller that interrupts then charges the cost with `debit`, so the costs of all
 * events add up to the spending. Orchestrator events go to `notify`.
 */
export class AttentionLedger implements Omit<Attention, 'reset'>, Ledger, Transferable {
  readonly #settings: () => AttentionSettings
  readonly #now: Clock
  readonly #notify: (event: AgentEventKind) => void
  readonly #events: AttentionEvent[] = []
  #account: Account = emptyAccount()

  /** `notify` is called within a method, and must not call the ledger. */
  constructor(settings: () => AttentionSettings, now: Clock, notify: (event: AgentEventKind) => void) {
    this.#settings = settings
    this.#now = now
    this.#notify = notify
  }

  get enabled(): boolean {
    return this.#settings().attention_enabled
  }

  get exhausted(): boolean {
    return this.#ratio >= 1
  }

  state(): AttentionState {
    const account = this.#account
    const ratio = this.#ratio
    return {
      max_attention_ms: this.#max,
      spent_ms: account.spent_ms,
      ratio,
      total_requests: account.total_requests,
      auto_approved: account.auto_approved,
      rejected: account.rejected,
      interrupt_freq_per_hour: account.frequency,
      last_interrupt_ms: account.last_interrupt_ms,
      inbox_suppressed_count: account.suppressed,
      focus_depth: this.#focus,
      fatigued: this.#isFatigued(),
      signal: ratio >= 1 ? 'AttentionCritical' : ratio > this.#alert ? 'AttentionHigh' : 'Normal'
    }
  }

  decide(signals: InterruptionSignals): InterruptionDecision {
    const settings = this.#settings()
    const verdict = judgeInterruption(
      settings.interruption_calibration,
      {
        enabled: settings.attention_enabled,
        ratio: this.#ratio,
        alert: settings.attention_alert_threshold,
        focus: this.#focus,
        baseCostMs: settings.attention_interrupt_cost_ms
      },
      signals
    )
    this.#account.total_requests += 1
    const kind = NOTED_AS[verdict.decision]
    if (kind !== 'Interrupted') this.#account.suppressed += 1
    const timestamp_ms = this.#now()
    this.#note({
      kind,
      cost_ms: 0,
      channel: signals.channel,
      detail: `${signals.surface}: ${verdict.decision}, rule ${verdict.rule}: ${verdict.reason}`,
      timestamp_ms
    })
    return {
      surface: signals.surface,
      channel: signals.channel,
      decision: verdict.decision,
      rule: verdict.rule,
      reason: verdict.reason,
      scaled_cost_ms: verdict.scaled_cost_ms,
      signals: finite(verdict.signals),
      timestamp_ms
    }
  }

  /** Charges a cost to the budget. Negative values and NaN count as 0. */
  debit(milliseconds: number, kind: AttentionEventKind, options: { readonly frequency?: boolean } = {}): void {
    const now = this.#now()
    const cost = milliseconds > 0 && Number.isFinite(milliseconds) ? milliseconds : 0
    const account = this.#account
    const before = this.#ratio
    account.spent_ms += cost
    if (kind === 'AutoApproved' || kind === 'Rejected') account.total_requests += 1
    if (kind === 'AutoApproved') account.auto_approved += 1
    if (kind === 'Rejected') account.rejected += 1
    if (kind === 'InboxSuppressed') account.suppressed += 1
    if (reachesUser(kind)) this.#reach(now, options.frequency !== false)
    this.#note({ kind, cost_ms: cost, channel: null, detail: '', timestamp_ms: now })
    this.#alarm(before)
  }

  events(limit = MAX_EVENTS): readonly AttentionEvent[] {
    return limit <= 0 ? [] : this.#events.slice(-limit)
  }

  /** Resets the spending to zero. `maxMs`: the new budget; null leaves it unchanged. */
  reset(maxMs: number | null, reason: string): void {
    const max = maxMs ?? this.#account.max_ms
    this.#account = { ...emptyAccount(), max_ms: max }
    this.#notify({ type: 'attention_budget_reset', agent_id: 0, new_max_ms: this.#max, reason })
  }

  keys(): Iterable<string> {
    return ['global']
  }

  /** Returns the last events. */
  exportState(): readonly AttentionEvent[] {
    return this.#events
  }

  importState(state: unknown): void {
    this.#events.push(...(state as readonly AttentionEvent[]))
  }

  serialise(key: string): string | null {
    return key === 'global' ? JSON.stringify(this.#account) : null
  }

  /** Restores the budget. Throws if `json` is not JSON. Invalid fields get their initial values. */
  restore(_key: string, json: string): void {
    const stored = JSON.parse(json) as Record<string, unknown>
    const account = emptyAccount()
    for (const field of Object.keys(account) as (keyof Account)[]) {
      const value = stored[field]
      if (typeof value === 'number' && Number.isFinite(value) && value >= 0) account[field] = value
    }
    this.#account = account
  }

  get #max(): number {
    return this.#account.max_ms ?? this.#settings().attention_budget_ms
  }

  get #alert(): number {
    return this.#settings().attention_alert_threshold
  }

  get #ratio(): number {
    const max = this.#max
    return max > 0 ? this.#account.spent_ms / max : 1
  }

  get #focus(): FocusDepth {
    const { frequency } = this.#account
    return frequency >= 8 ? 'Deep' : frequency >= 3 ? 'Focused' : 'Ambient'
  }

  /** Returns true if the budget is spent, or a limit of switches or session length is exceeded. */
  #isFatigued(): boolean {
    if (this.exhausted) return true
    const { last_activity_ms: last, session_start_ms: start, switches } = this.#account
    if (last === null || start === null) return false
    const quiet = this.#now() - last
    if (quiet <= SWITCH_GAP_MS && switches > MAX_SWITCHES) return true
    return quiet <= SESSION_GAP_MS && last - start > MAX_SESSION_MS
  }

  #reach(now: number, countFrequency: boolean): void {
    const account = this.#account
    const quiet = account.last_activity_ms === null ? Number.POSITIVE_INFINITY : now - account.last_activity_ms
    account.switches = quiet > SWITCH_GAP_MS ? 1 : account.switches + 1
    if (quiet > SESSION_GAP_MS) account.session_start_ms = now
    account.last_activity_ms = now
    if (!countFrequency) return
    if (account.last_interrupt_ms !== null) {
      const gapHours = Math.max(now - account.last_interrupt_ms, MIN_GAP_MS) / HOUR_MS
      account.frequency = FREQUENCY_WEIGHT / gapHours + (1 - FREQUENCY_WEIGHT) * account.frequency
    }
    account.last_interrupt_ms = now
  }

  #alarm(before: number): void {
    const after = this.#ratio
    for (const threshold of [this.#alert, 1]) {
      const isOver = threshold === 1 ? after >= 1 && before < 1 : after > threshold && before <= threshold
      if (!isOver) continue
      this.#notify({
        type: 'attention_budget_alert',
        agent_id: 0,
        threshold,
        spent_ms: this.#account.spent_ms,
        max_ms: this.#max
      })
    }
  }

  #note(event: AttentionEvent): void {
    this.#events.push(event)
    if (this.#events.length > MAX_EVENTS) this.#events.shift()
  }
}

/** Returns true if events of this kind interrupt the user. */
function reachesUser(kind: AttentionEventKind): boolean {
  return (
    kind === 'Interrupted' || kind === 'ClarificationAsked' || kind === 'ClarificationAnswered' || kind === 'Rejected'
  )
}

function emptyAccount(): Account {
  return {
    max_ms: null,
    spent_ms: 0,
    total_requests: 0,
    auto_approved: 0,
    rejected: 0,
    frequency: 0,
    last_interrupt_ms: null,
    suppressed: 0,
    switches: 0,
    session_start_ms: null,
    last_activity_ms: null
  }
}

/** Drops infinite and NaN values, which JSON cannot represent. */
function finite(signals: object): Readonly<Record<string, number | boolean>> {
  return Object.fromEntries(
    Object.entries(signals).filter(([, value]) => typeof value === 'boolean' || Number.isFinite(value))
  )
}
