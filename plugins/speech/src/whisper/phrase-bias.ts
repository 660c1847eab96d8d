import type { WhisperTokens } from './whisper-tokens.ts'

export interface BiasOptions {
  readonly phrases: readonly string[]
  /** Bonus added to a logit. */
  readonly strength: number
  /** Maximum number of phrase tokens. */
  readonly maxTokens: number
}

/** Raises the logits of tokens that begin a phrase of the lexicon, or continue one that has begun. */
export class PhraseBias {
  readonly #strength: number
  readonly #phrases: readonly (readonly number[])[]

  constructor(tokens: WhisperTokens, { phrases, strength, maxTokens }: BiasOptions) {
    this.#strength = strength
    const kept: (readonly number[])[] = []
    let remaining = strength === 0 ? 0 : maxTokens
    for (const phrase of phrases) {
      // Inside a sentence, a word includes its leading space.
      const ids = tokens.encode(` ${phrase}`)
      if (ids.length === 0 || ids.length > remaining) continue
      remaining -= ids.length
      kept.push(ids)
    }
    this.#phrases = kept
  }

  /** Adds the bonus to the logits of the tokens that may follow `decoded`. */
  apply(logits: Float32Array, decoded: readonly number[]): void {
    const raised = new Set<number>()
    for (const phrase of this.#phrases) {
      for (let done = 0; done < phrase.length; done++) {
        const next = phrase[done] as number
        if (phrase.slice(0, done).every((token, at) => decoded[decoded.length - done + at] === token)) raised.add(next)
      }
    }
    for (const token of raised) logits[token] = (logits[token] as number) + this.#strength
  }
}
