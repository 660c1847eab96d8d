import type { DecoderSession, Wanted } from './decoder-session.ts'
import { SlotPool } from './slots.ts'
import { Turnstile } from './turnstile.ts'

/**
 * Decides which sequence computes when.
 *
 * A sequence takes a slot for its whole life and asks for one step at a time; steps of different slots take turns. A
 * scheduler that joins the steps of several slots into one run can take this one's place without its callers noticing.
 */
export class Scheduler {
  readonly #session: DecoderSession
  readonly #turnstile = new Turnstile()
  readonly slots: SlotPool

  constructor(session: DecoderSession, slots: number, maxWaiting: number) {
    this.#session = session
    this.slots = new SlotPool(slots, maxWaiting)
  }

  /** Tokens of a prompt that are read in one step. */
  get chunk(): number {
    return this.#session.chunk
  }

  /** See {@link DecoderSession.step}; null when `signal` was aborted before or during the step. */
  async step(
    slot: number,
    tokens: readonly number[],
    position: number,
    wanted: Wanted,
    signal: AbortSignal
  ): Promise<Float32Array | null> {
    return this.#turnstile.run(async () => {
      if (signal.aborted) return null
      try {
        return await this.#session.step(slot, tokens, position, wanted, signal)
      } catch (error) {
        if (signal.aborted) return null
        throw error
      }
    })
  }

  /** Waits for the step under way, then frees the session. Callers have aborted their signals before. */
  async close(): Promise<void> {
    await this.#turnstile.run(() => this.#session.close())
  }
}
