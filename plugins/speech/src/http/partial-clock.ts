import type { Tunables } from '../tunables.ts'

/** Minimum length of audio for a partial text, in milliseconds. */
const ENOUGH_MS = 1_000

/**
 * Decides when a partial text is due: after a pause, or during long continuous input. The recording must be long enough,
 * and a minimum interval must have passed since the previous text.
 */
export class PartialClock {
  readonly #tunables: Tunables
  readonly #due: () => void
  #timer: NodeJS.Timeout | null = null
  /** Arrival time of the first audio that no partial text covers. */
  #waitingSince: number | null = null
  #lastAt = -Infinity

  constructor(tunables: Tunables, due: () => void) {
    this.#tunables = tunables
    this.#due = due
  }

  /** Records the arrival of audio. `totalMs` is the length of the recording so far. */
  onAudio(totalMs: number): void {
    const { stream_partial_quiet_ms: quiet, stream_max_wait_ms: longest, heartbeat_ms: pause } = this.#tunables
    const now = performance.now()
    this.#waitingSince ??= now
    if (totalMs < ENOUGH_MS) return
    const dueAt = Math.min(now + quiet, this.#waitingSince + longest)
    this.#stop()
    this.#timer = setTimeout(() => this.#fire(), Math.max(0, Math.max(dueAt, this.#lastAt + pause) - now)).unref()
  }

  reset(): void {
    this.#stop()
    this.#waitingSince = null
  }

  #fire(): void {
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
