import type { WhisperTokens } from './whisper-tokens.ts'

export interface BiasOptions {
  readonly phrases: readonly string[]
  /** Bonus added to a logit. */
  readonly strength: number
  /** Tokens of phrases that are heeded, at most. */
  readonly maxTokens: number
}

/**
 * Makes words of a lexicon likelier: the token that begins a phrase, and the one that goes on with a phrase of which the
 * beginning has been said.
 */
export class PhraseBias {
  readonly #strength: number
  readonly #phrases: readonly (readonly number[])[]

  constructor(tokens: WhisperTokens, { phrases, strength, maxTokens }: BiasOptions) {
    this.#strength = strength
    const kept: (readonly number[])[] = []
    let room = strength === 0 ? 0 : maxTokens
    for (const phrase of phrases) {
      // Within a sentence a word begins with its space.
      const ids = tokens.encode(` ${phrase}`)
      if (ids.length === 0 || ids.length > room) continue
      room -= ids.length
      kept.push(ids)
    }
    this.#phrases = kept
  }

  /** Adds to the logits of what may come behind the tokens that have been said. */
  apply(logits: Float32Array, said: readonly number[]): void {
    const raised = new Set<number>()
    for (const phrase of this.#phrases) {
      for (let done = 0; done < phrase.length; done++) {
        const next = phrase[done] as number
        if (phrase.slice(0, done).every((token, at) => said[said.length - done + at] === token)) raised.add(next)
      }
    }
    for (const token of raised) logits[token] = (logits[token] as number) + this.#strength
  }
}
