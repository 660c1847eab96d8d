import type { Clock } from '../state/ports.ts'

/**
 * Returns a monotonic clock in Unix milliseconds. If the system clock steps back, it continues at normal speed from its
 * last value until the system clock catches up. So timestamps never decrease, and timers stay correct.
 */
export function forwardClock(system: Clock = Date.now): Clock {
  let last = 0
  let ahead = 0
  return () => {
    const now = system()
    if (now >= last) ahead = 0
    else if (now + ahead < last) ahead = last - now
    last = now + ahead
    return last
  }
}
