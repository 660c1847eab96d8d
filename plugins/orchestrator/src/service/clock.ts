import type { Clock } from '../state/ports.ts'

/**
 * The system time, but monotonic: after a step back it continues from its last value at normal speed until the system
 * catches up. So timestamps never decrease, and timers stay correct. Unix milliseconds.
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
