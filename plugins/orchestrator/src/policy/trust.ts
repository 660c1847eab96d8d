import type { TrustTier, TrustView } from '@svc/contracts'
import type { Settings } from '../settings.ts'
import type { TrustPort } from '../state/ports.ts'
import { binaryEntropy, clamp } from './numbers.ts'

export type TrustSettings = Pick<
  Settings,
  'trust_ewma_alpha' | 'trust_provisional_threshold' | 'trust_trusted_threshold'
>

/** Trust tiers, lowest first. */
const TIERS: readonly TrustTier[] = ['Untrusted', 'Provisional', 'Trusted', 'System']

/** Lower bound of each tier's score; the last entry is the upper bound of System. */
const FLOORS: readonly number[] = [0, 0.45, 0.7, 0.9, 1]

/** Consecutive outcomes below a tier's floor that lower the tier. */
const DEMOTION_RUN = 3

const START_SCORE = 0.5

/** Maximum successes that count as approvals. */
const MAX_APPROVALS = 50

/** Weight of the newest outcome in `rollup`, the trust in completing tasks, which routing and the trust gate use. */
const ROLLUP_ALPHA = 0.1

interface Account {
  score: number
  /** Index into {@link TIERS}. */
  tier: number
  successes: number
  failures: number
  /** Consecutive outcomes with a score below the tier's floor. */
  below: number
  overridden: boolean
  /** Null before the first outcome. */
  rollup: number | null
}

/**
 * Trust in each agent, from the outcomes of its tasks.
 *
 * score <- score + alpha (outcome - score), with outcome 1 for a completed task and 0 for a failed one. An agent rises
 * one tier at a time, when its score reaches the next tier's floor after enough outcomes. It falls one tier after three
 * outcomes in a row with a score below its tier's floor. Only an operator can make an agent System.
 */
export class TrustLedger implements TrustPort {
  readonly #settings: () => TrustSettings
  readonly #accounts = new Map<number, Account>()

  constructor(settings: () => TrustSettings) {
    this.#settings = settings
  }

  of(agent: number): TrustView {
    return view(agent, this.#accounts.get(agent))
  }

  observe(agent: number, success: boolean): TrustView {
    const account = this.#account(agent)
    const alpha = clamp(this.#settings().trust_ewma_alpha, 0, 1)
    const outcome = success ? 1 : 0
    account.score = clamp(account.score + alpha * (outcome - account.score), 0, 1)
    account.rollup = account.rollup === null ? outcome : account.rollup + ROLLUP_ALPHA * (outcome - account.rollup)
    if (success) account.successes += 1
    else account.failures += 1
    this.#move(account)
    return view(agent, account)
  }

  /**
   * Sets an operator's override. If only the tier is set, a score outside its range moves to the middle of the range. If
   * only the score is set, its tier follows. If both are null, only the flag is removed. Later outcomes continue from
   * there.
   */
  override(agent: number, tier: TrustTier | null, score: number | null): TrustView {
    const account = this.#account(agent)
    account.overridden = tier !== null || score !== null
    if (score !== null) account.score = clamp(score, 0, 1)
    if (tier !== null) {
      account.tier = TIERS.indexOf(tier)
      const [floor, ceiling] = [floorOf(account.tier), floorOf(account.tier + 1)]
      if (score === null && (account.score < floor || account.score >= ceiling)) account.score = (floor + ceiling) / 2
    } else if (score !== null) account.tier = tierOf(account.score)
    account.below = 0
    return view(agent, account)
  }

  /** Returns the approvals (successes, at most 50), and the entropy of the success rate in bits; 1 without outcomes. */
  approvals(agent: number): { readonly count: number; readonly entropy: number } {
    const { successes, failures } = this.#accounts.get(agent) ?? { successes: 0, failures: 0 }
    const total = successes + failures
    return {
      count: Math.min(successes, MAX_APPROVALS),
      entropy: binaryEntropy(total === 0 ? 0.5 : successes / total)
    }
  }

  /** Returns the trust in completing tasks, [0, 1]; null before the first outcome. */
  rollup(agent: number): number | null {
    return this.#accounts.get(agent)?.rollup ?? null
  }

  forget(agent: number): void {
    this.#accounts.delete(agent)
  }

  keys(): Iterable<string> {
    return Array.from(this.#accounts.keys(), String)
  }

  serialise(key: string): string | null {
    const account = this.#accounts.get(Number(key))
    if (account === undefined) return null
    return JSON.stringify({ ...account, tier: TIERS[account.tier] })
  }

  /** Restores an agent's trust. Throws if `json` is not JSON. Missing or invalid fields get their initial values. */
  restore(key: string, json: string): void {
    const stored = JSON.parse(json) as Partial<Record<keyof Account, unknown>>
    this.#accounts.set(Number(key), {
      score: ratio(stored.score) ?? START_SCORE,
      tier: Math.max(0, TIERS.indexOf(stored.tier as TrustTier)),
      successes: count(stored.successes),
      failures: count(stored.failures),
      below: count(stored.below),
      overridden: stored.overridden === true,
      rollup: ratio(stored.rollup)
    })
  }

  #account(agent: number): Account {
    let account = this.#accounts.get(agent)
    if (account === undefined) {
      account = {
        score: START_SCORE,
        tier: 0,
        successes: 0,
        failures: 0,
        below: 0,
        overridden: false,
        rollup: null
      }
      this.#accounts.set(agent, account)
    }
    return account
  }

  #move(account: Account): void {
    account.below = account.score < floorOf(account.tier) ? account.below + 1 : 0
    if (account.below >= DEMOTION_RUN) {
      account.tier -= 1
      account.below = 0
      return
    }
    const outcomes = account.successes + account.failures
    const { trust_provisional_threshold: provisional, trust_trusted_threshold: trusted } = this.#settings()
    if (account.tier === 0 && account.score >= floorOf(1) && outcomes >= provisional) account.tier = 1
    else if (account.tier === 1 && account.score >= floorOf(2) && outcomes >= trusted) account.tier = 2
  }
}

function view(agent: number, account: Account | undefined): TrustView {
  const { score, tier, successes, failures, overridden } = account ?? {
    score: START_SCORE,
    tier: 0,
    successes: 0,
    failures: 0,
    overridden: false
  }
  const outcomes = successes + failures
  const name = TIERS[tier] ?? 'Untrusted'
  // Laplace's rule of succession.
  return { agent_id: agent, score, tier: name, outcomes, overridden, reliability: (successes + 1) / (outcomes + 2) }
}

function floorOf(tier: number): number {
  return FLOORS[tier] ?? 1
}

function tierOf(score: number): number {
  return score >= floorOf(3) ? 3 : score >= floorOf(2) ? 2 : score >= floorOf(1) ? 1 : 0
}

function ratio(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 && value <= 1 ? value : null
}

function count(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0
}
