/** Lengths of the endings that are looked up, longest first. */
const LENGTHS = [3, 2] as const
/** Multiplier that makes one number of several tokens. Collisions do no harm: what is found is compared. */
const RADIX = 2 ** 17 - 1

/**
 * Guesses how a sequence goes on: as it did after the last place where its latest tokens occurred before.
 *
 * The sequence is only appended to, so each of its places is entered once.
 * Prompt lookup decoding: https://github.com/apoorvumang/prompt-lookup-decoding
 */
export class PromptLookup {
  readonly #tokens: readonly number[]
  /** For each length, from an ending to the position behind its last occurrence. */
  readonly #places = LENGTHS.map(() => new Map<number, number>())
  /** Endings before this position have been entered. */
  #entered = 1

  constructor(tokens: readonly number[]) {
    this.#tokens = tokens
  }

  /** At most `count` tokens; none where the sequence says nothing new. */
  draft(count: number): number[] {
    const tokens = this.#tokens
    for (; this.#entered < tokens.length; this.#entered++) {
      for (const [index, length] of LENGTHS.entries()) {
        if (this.#entered >= length) this.#places[index]?.set(this.#key(this.#entered, length), this.#entered)
      }
    }
    for (const [index, length] of LENGTHS.entries()) {
      if (tokens.length <= length) continue
      const place = this.#places[index]?.get(this.#key(tokens.length, length))
      if (place !== undefined && this.#same(place, length)) return this.#continuation(place, count)
    }
    return []
  }

  /** A number for the `length` tokens that end before `end`. */
  #key(end: number, length: number): number {
    let key = 0
    for (let i = end - length; i < end; i++) key = key * RADIX + (this.#tokens[i] as number)
    return key
  }

  #same(place: number, length: number): boolean {
    const { length: end } = this.#tokens
    for (let i = 1; i <= length; i++) if (this.#tokens[place - i] !== this.#tokens[end - i]) return false
    return true
  }

  /** Tokens that follow `place`; a repetition up to the end is assumed to continue. */
  #continuation(place: number, count: number): number[] {
    const { length } = this.#tokens
    const draft: number[] = []
    for (let i = 0; i < count; i++) {
      const position = place + i
      draft.push((position < length ? this.#tokens[position] : draft[position - length]) as number)
    }
    return draft
  }
}
