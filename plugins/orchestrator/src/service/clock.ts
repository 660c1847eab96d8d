import type { Clock } from '../state/ports.ts'

/**
 * The system's time, but for when that is set back: then it goes on from where it was, as fast as the system's, until the system
 * has caught up. So nothing happens before what happened earlier, and what is due after a while is due. Unix milliseconds.
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
