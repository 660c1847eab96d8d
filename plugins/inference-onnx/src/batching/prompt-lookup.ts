/** Lengths of the n-grams that are looked up, longest first. */
const LENGTHS = [3, 2] as const
/** Multiplier of the n-gram hash. Collisions are harmless, because matches are compared. */
const RADIX = 2 ** 17 - 1

/**
 * Predicts the next tokens: those that followed the previous occurrence of the latest n-gram.
 *
 * The sequence is append-only, so each position is indexed once.
 * Prompt lookup decoding: https://github.com/apoorvumang/prompt-lookup-decoding
 */
export class PromptLookup {
  readonly #tokens: readonly number[]
  /** For each length: position after the last occurrence of an n-gram, by hash. */
  readonly #positions = LENGTHS.map(() => new Map<number, number>())
  /** N-grams before this position are indexed. */
  #entered = 1

  constructor(tokens: readonly number[]) {
    this.#tokens = tokens
  }

  /** Returns at most `count` tokens; none without a match. */
  draft(count: number): number[] {
    const tokens = this.#tokens
    for (; this.#entered < tokens.length; this.#entered++) {
      for (const [index, length] of LENGTHS.entries()) {
        if (this.#entered >= length) this.#positions[index]?.set(this.#key(this.#entered, length), this.#entered)
      }
    }
    for (const [index, length] of LENGTHS.entries()) {
      if (tokens.length <= length) continue
      const match = this.#positions[index]?.get(this.#key(tokens.length, length))
      if (match !== undefined && this.#same(match, length)) return this.#continuation(match, count)
    }
    return []
  }

  /** Returns the hash of the `length` tokens before `end`. */
  #key(end: number, length: number): number {
    let key = 0
    for (let i = end - length; i < end; i++) key = key * RADIX + (this.#tokens[i] as number)
    return key
  }

  #same(position: number, length: number): boolean {
    const { length: end } = this.#tokens
    for (let i = 1; i <= length; i++) if (this.#tokens[position - i] !== this.#tokens[end - i]) return false
    return true
  }

  /** Returns the tokens that follow `start`. A repetition up to the end of the sequence is assumed to continue. */
  #continuation(start: number, count: number): number[] {
    const { length } = this.#tokens
    const draft: number[] = []
    for (let i = 0; i < count; i++) {
      const position = start + i
      draft.push((position < length ? this.#tokens[position] : draft[position - length]) as number)
    }
    return draft
  }
}
