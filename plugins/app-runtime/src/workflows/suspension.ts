/** Thrown to end the turn of a waiting workflow, which runs again from its start after the wait. */
export class Suspension {
  /** Milliseconds since 1970; null if the run waits for a signal. */
  readonly wakeAt: number | null
  readonly signal: string | null

  constructor(wakeAt: number | null, signal: string | null) {
    this.wakeAt = wakeAt
    this.signal = signal
  }
}
