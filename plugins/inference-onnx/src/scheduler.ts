import type { ModelStatistics } from '@svc/contracts'
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
  #promptTokens = 0
  #completionTokens = 0

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
        const logits = await this.#session.step(slot, tokens, position, wanted, signal)
        if (tokens.length === 1 && position > 0) this.#completionTokens += 1
        else this.#promptTokens += tokens.length
        return logits
      } catch (error) {
        if (signal.aborted) return null
        throw error
      }
    })
  }

  statistics(): Omit<ModelStatistics, 'weightBytes'> {
    const { cacheBytes, cachePositions } = this.#session
    return {
      promptTokens: this.#promptTokens,
      cachedPromptTokens: 0,
      completionTokens: this.#completionTokens,
      decodeRuns: this.#completionTokens,
      decodedSequences: this.#completionTokens,
      draftedTokens: 0,
      acceptedTokens: 0,
      cachePositions,
      cachePositionsUsed: 0,
      cacheBytes
    }
  }

  /** Waits for the step under way, then frees the session. Callers have aborted their signals before. */
  async close(): Promise<void> {
    await this.#turnstile.run(() => this.#session.close())
  }
}
