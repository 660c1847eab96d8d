import type { Clock } from '../state/ports.ts'

/** The system's time, but for when that is set back: then it stands still until the time has caught up. Unix milliseconds. */
export function forwardClock(system: Clock = Date.now): Clock {
  let last = 0
  return () => {
    const now = system()
    if (now > last) last = now
    return last
  }
}
