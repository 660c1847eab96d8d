/** Unwinds a workflow that has to wait: it runs again from its beginning when that is over. */
export class Suspension {
  /** Milliseconds since 1970; null where only the signal ends it. */
  readonly wakeAt: number | null
  readonly signal: string | null

  constructor(wakeAt: number | null, signal: string | null) {
    this.wakeAt = wakeAt
    this.signal = signal
  }
}
