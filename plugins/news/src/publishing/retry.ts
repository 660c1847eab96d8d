import type { NewsChannel, RetryProfile } from '@svc/contracts'

interface Rules {
  readonly attempts: number
  readonly delayMs: number
}

const PROFILES: Readonly<Record<RetryProfile, Rules>> = {
  aggressive: { attempts: 5, delayMs: 400 },
  standard: { attempts: 3, delayMs: 800 },
  minimal: { attempts: 2, delayMs: 1_200 }
}

const MAX_DELAY_MS = 60_000
const RATE_LIMIT_DELAY_MS = 60_000

/** Longer delays are stored instead of waited for. */
export const MAX_WAIT_MS = 5_000

export interface RetryRules extends Rules {
  /** Returns milliseconds before the next attempt after `attempts` failed ones. */
  delay(attempts: number, failure: { readonly failureClass: string; readonly retryAfterMs?: number }): number
}

/** Returns the rules of a channel, changed by an item's policy. `patient` doubles the delays of the channel's profile. */
export function retryRules(channel: Pick<NewsChannel, 'retry'>, policy: RetryProfile | 'patient' | null): RetryRules {
  const isPatient = policy === 'patient'
  const base = PROFILES[policy === null || policy === 'patient' ? channel.retry : policy]
  const rules = isPatient ? { ...base, delayMs: base.delayMs * 2 } : base
  return {
    ...rules,
    delay(attempts, { failureClass, retryAfterMs }) {
      const own = Math.min(rules.delayMs * 2 ** (attempts - 1), MAX_DELAY_MS)
      // A service's wish may exceed the cap: earlier requests would be refused, too.
      if (retryAfterMs !== undefined) return Math.max(own, retryAfterMs)
      return failureClass === 'rate_limit' ? RATE_LIMIT_DELAY_MS : own
    }
  }
}
