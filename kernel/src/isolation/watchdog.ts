/** Interval between pings. */
const HEARTBEAT_MS = 5_000
/** Time without a ping reply after which the child counts as blocked. */
const SILENCE_MS = 30_000

/** Detects a blocked event loop in the child. */
export class Watchdog {
  readonly #ping: () => Promise<unknown>
  readonly #onSilent: (milliseconds: number) => void
  readonly #heartbeat: NodeJS.Timeout
  #patience: { readonly until: number; readonly timer: NodeJS.Timeout } | undefined

  constructor(ping: () => Promise<unknown>, onSilent: (milliseconds: number) => void) {
    this.#ping = ping
    this.#onSilent = onSilent
    this.#heartbeat = setInterval(() => this.expect(SILENCE_MS), HEARTBEAT_MS).unref()
  }

  /** Pings and expects a reply within a time limit. Shortens the limit of a pending ping. */
  expect(milliseconds: number): void {
    const waiting = this.#patience
    const until = performance.now() + milliseconds
    if (waiting !== undefined && waiting.until <= until) return
    clearTimeout(waiting?.timer)
    // If the host itself was busy, a reply that already arrived is read before the immediate runs.
    const timer = setTimeout(
      () => setImmediate(() => this.#patience?.timer === timer && this.#lost(milliseconds)),
      milliseconds
    )
    this.#patience = { until, timer }
    if (waiting === undefined)
      this.#ping().then(
        () => this.#onReply(),
        () => this.stop()
      )
  }

  stop(): void {
    clearInterval(this.#heartbeat)
    this.#onReply()
  }

  #onReply(): void {
    clearTimeout(this.#patience?.timer)
    this.#patience = undefined
  }

  #lost(milliseconds: number): void {
    this.stop()
    this.#onSilent(milliseconds)
  }
}
