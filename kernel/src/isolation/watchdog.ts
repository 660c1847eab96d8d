/** Between two questions for a sign of life. */
const HEARTBEAT_MS = 5_000
/** Silence after which a far side is lost: plugins may compute for long, yet not for ever. */
const SILENCE_MS = 30_000

/** Notices that the event loop on the far side does not turn any more. */
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

  /** Asks for a sign of life within a time; an earlier question that still waits becomes at least as urgent. */
  expect(milliseconds: number): void {
    const waiting = this.#patience
    const until = performance.now() + milliseconds
    if (waiting !== undefined && waiting.until <= until) return
    clearTimeout(waiting?.timer)
    // An answer that lies unread, since this side was busy itself, is read before the immediate runs.
    const timer = setTimeout(
      () => setImmediate(() => this.#patience?.timer === timer && this.#lost(milliseconds)),
      milliseconds
    )
    this.#patience = { until, timer }
    if (waiting === undefined)
      this.#ping().then(
        () => this.#heard(),
        () => this.stop()
      )
  }

  stop(): void {
    clearInterval(this.#heartbeat)
    this.#heard()
  }

  #heard(): void {
    clearTimeout(this.#patience?.timer)
    this.#patience = undefined
  }

  #lost(milliseconds: number): void {
    this.stop()
    this.#onSilent(milliseconds)
  }
}
