/** Difference from the system clock in milliseconds at which it is read again: it was set, or the machine slept. */
const MAX_DRIFT_MS = 20
let origin = performance.timeOrigin

/**
 * Returns Unix milliseconds with fractions, so that times within a millisecond can be compared. Follows the system clock
 * when that is set, and after the machine slept.
 */
export function unixMs(): number {
  const elapsed = performance.now()
  const drift = Date.now() - origin - elapsed
  if (drift > MAX_DRIFT_MS || drift < -MAX_DRIFT_MS) origin += drift
  return origin + elapsed
}
