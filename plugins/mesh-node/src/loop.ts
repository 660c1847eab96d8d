import { setTimeout as delay } from 'node:timers/promises'
import { errorMessage, LinkedSignal, type Logger } from '@svc/plugin-sdk'

/** Maximum milliseconds between two attempts after failures, unless the interval itself is longer. */
export const MAX_BACKOFF_MS = 30_000
/** Share by which a pause is longer or shorter at random, so that the nodes of a mesh do not call at the same time. */
const JITTER = 0.1

export interface LoopOptions {
  /** Names the loop in log lines, such as `node poll`. */
  readonly label: string
  /** A function is called before each pause. */
  readonly intervalMs: number | (() => number)
  readonly log: Logger
  /** Returns a number in [0, 1); default `Math.random`. */
  readonly random?: () => number
}

/** `again`: the step expects more work and is repeated at once. */
export type StepResult = 'again' | 'pause'

/**
 * Repeats a step with a pause between two runs. The pause doubles with each failure in a row. Logs the first failure of
 * a series as a warning, later ones for debugging, and the recovery.
 */
export class Loop {
  readonly #options: LoopOptions
  readonly #step: (signal: AbortSignal) => Promise<StepResult>
  #failures = 0
  #wakeUp: AbortController | null = null
  #awake = false

  constructor(options: LoopOptions, step: (signal: AbortSignal) => Promise<StepResult>) {
    this.#options = options
    this.#step = step
  }

  /** Ends the current pause, or skips the next one. */
  wake(): void {
    this.#awake = true
    this.#wakeUp?.abort()
  }

  /** Resolves when the signal is aborted and the current step has ended. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#awake = false
      const result = await this.#attempt(signal)
      if (result !== 'again' && !this.#awake) await this.#pause(signal)
    }
  }

  async #attempt(signal: AbortSignal): Promise<StepResult> {
    const { label, log } = this.#options
    try {
      const result = await this.#step(signal)
      if (this.#failures > 0) log.info(`${label}: works again`, { failures: this.#failures })
      this.#failures = 0
      return result
    } catch (error) {
      if (signal.aborted) return 'pause'
      this.#failures += 1
      const fields = { failures: this.#failures, reason: errorMessage(error) }
      if (this.#failures === 1) log.warn(`${label}: failed; it is repeated`, fields)
      else log.debug(`${label}: failed again`, fields)
      return 'pause'
    }
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const wakeUp = new AbortController()
    this.#wakeUp = wakeUp
    const { intervalMs, random = Math.random } = this.#options
    const interval = typeof intervalMs === 'number' ? intervalMs : intervalMs()
    const ms = pauseMs(interval, this.#failures, random())
    const ended = new LinkedSignal().with(signal).with(wakeUp.signal)
    await delay(ms, undefined, { signal: ended.signal }).catch(() => {})
    ended.close()
    this.#wakeUp = null
  }
}

/** Returns the pause in milliseconds after `failures` failures in a row. `random` is in [0, 1). */
export function pauseMs(intervalMs: number, failures: number, random: number): number {
  const backoff = Math.min(MAX_BACKOFF_MS, intervalMs * 2 ** Math.min(failures, 16))
  return Math.max(intervalMs, backoff) * (1 - JITTER + 2 * JITTER * random)
}
