/** Unwinds a waiting workflow: it runs again from its start after the wait. */
export class Suspension {
  /** Milliseconds since 1970; null if only the signal ends it. */
  readonly wakeAt: number | null
  readonly signal: string | null

  constructor(wakeAt: number | null, signal: string | null) {
    this.wakeAt = wakeAt
    this.signal = signal
  }
}
