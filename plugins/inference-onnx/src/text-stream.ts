/** Token to output: its visible bytes, and data of the caller. */
export interface StreamToken<A> {
  readonly bytes: Uint8Array
  readonly data: A
}

export interface TextPiece<A> {
  readonly text: string
  /** Data of the tokens whose text ends in this piece. */
  readonly data: readonly A[]
}

interface FoundStop {
  readonly index: number
  readonly stop: string
}

/**
 * Joins tokens into pieces of text that can be shown immediately.
 *
 * A piece never ends inside a UTF-8 sequence, and never contains a possible prefix of a stop string. The concatenated
 * pieces are the decoded bytes up to the first stop string.
 */
export class TextStream<A> {
  readonly #stops: readonly string[]
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  /** Text that was decoded but not returned yet. */
  #held = ''
  /** Tokens of the held text, each with its end offset in that text. */
  #tokens: { end: number; data: A }[] = []
  #stoppedBy: string | null = null

  constructor(stops: readonly string[]) {
    this.#stops = stops.filter(stop => stop !== '')
  }

  /** True after a stop string: no more text follows. */
  get stopped(): boolean {
    return this.#stoppedBy !== null
  }

  /** The stop string that ended the text; null if none did. */
  get stoppedBy(): string | null {
    return this.#stoppedBy
  }

  /** Adds a token; returns text to show now, or null. */
  push({ bytes, data }: StreamToken<A>): TextPiece<A> | null {
    const from = this.#held.length
    this.#held += this.#decoder.decode(bytes, { stream: true })
    this.#tokens.push({ end: this.#held.length, data })
    return this.#advance(from)
  }

  /** Ends the stream: returns the rest, with incomplete UTF-8 as U+FFFD. */
  finish(): TextPiece<A> | null {
    if (this.stopped) return null
    const from = this.#held.length
    this.#held += this.#decoder.decode()
    const stop = this.#findStop(from)
    if (stop !== null) return this.#stopAt(stop)
    return this.#held === '' && this.#tokens.length === 0 ? null : this.#take(this.#held.length)
  }

  #advance(from: number): TextPiece<A> | null {
    const stop = this.#findStop(from)
    if (stop !== null) return this.#stopAt(stop)
    const end = this.#held.length - this.#possibleStopLength()
    return end > 0 ? this.#take(end) : null
  }

  #stopAt({ index, stop }: FoundStop): TextPiece<A> | null {
    this.#stoppedBy = stop
    // A token that reaches into the stop string is shown in part, so it belongs to this piece.
    const shown = this.#tokens.filter((_, i) => (this.#tokens[i - 1]?.end ?? 0) < index)
    const text = this.#held.slice(0, index)
    this.#held = ''
    this.#tokens = []
    return text === '' ? null : { text, data: shown.map(token => token.data) }
  }

  #take(end: number): TextPiece<A> {
    const text = this.#held.slice(0, end)
    const data = this.#tokens.filter(token => token.end <= end).map(token => token.data)
    this.#held = this.#held.slice(end)
    this.#tokens = this.#tokens.filter(token => token.end > end).map(token => ({ ...token, end: token.end - end }))
    return { text, data }
  }

  /**
   * Returns the stop string that ends first. If several end at the same position, the longest counts, so
   * that tokenisation does not affect the result. Only matches that end after `from` are considered.
   */
  #findStop(from: number): FoundStop | null {
    let first: FoundStop | null = null
    let end = Number.POSITIVE_INFINITY
    for (const stop of this.#stops) {
      const found = this.#held.indexOf(stop, Math.max(0, from - stop.length + 1))
      const foundEnd = found + stop.length
      if (found === -1 || foundEnd > end || (foundEnd === end && found > (first?.index ?? -1))) continue
      first = { index: found, stop }
      end = foundEnd
    }
    return first
  }

  /** Returns the length of the longest suffix of the held text that is a prefix of a stop string. */
  #possibleStopLength(): number {
    let longest = 0
    for (const stop of this.#stops) {
      for (let length = Math.min(stop.length - 1, this.#held.length); length > longest; length--) {
        if (this.#held.endsWith(stop.slice(0, length))) {
          longest = length
          break
        }
      }
    }
    return longest
  }
}
