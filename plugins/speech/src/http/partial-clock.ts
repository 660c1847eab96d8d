import type { Tunables } from '../tunables.ts'

/** Milliseconds of sound that a partial text needs at least. */
const ENOUGH_MS = 1_000

/**
 * Says when a partial text is due: when nothing came for a while, or too long came something, but not before there is enough
 * to recognise and not soon behind the one before.
 */
export class PartialClock {
  readonly #tunables: Tunables
  readonly #due: () => void
  #timer: NodeJS.Timeout | null = null
  /** When the first sound came that no partial text is of. */
  #waitingSince: number | null = null
  #lastAt = -Infinity

  constructor(tunables: Tunables, due: () => void) {
    this.#tunables = tunables
    this.#due = due
  }

  /** Sound has come; there are so many milliseconds of it by now. */
  heard(totalMs: number): void {
    const { stream_partial_quiet_ms: quiet, stream_max_wait_ms: longest, heartbeat_ms: pause } = this.#tunables
    const now = performance.now()
    this.#waitingSince ??= now
    if (totalMs < ENOUGH_MS) return
    const wanted = Math.min(now + quiet, this.#waitingSince + longest)
    this.#stop()
    this.#timer = setTimeout(() => this.#ring(), Math.max(0, Math.max(wanted, this.#lastAt + pause) - now)).unref()
  }

  reset(): void {
    this.#stop()
    this.#waitingSince = null
  }

  #ring(): void {
    this.#timer = null
    this.#waitingSince = null
    this.#lastAt = performance.now()
    this.#due()
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }
}
