/** A comment, from its marker to the end of its line. */
export interface Comment {
  readonly start: number
  readonly end: number
  /** Index of the token after the comment; at the end of the file, the index of the end-of-file token. */
  readonly token: number
}

const NEWLINE_BEFORE = 1

/**
 * Tokens of one source as parallel arrays, without white space and comments. The last token is the end of the file. A
 * read past the last token returns it again.
 */
export class TokenList {
  readonly source: string
  readonly comments: Comment[] = []
  #kinds: Uint8Array
  #starts: Uint32Array
  #ends: Uint32Array
  #flags: Uint8Array
  #partners: Int32Array
  #length = 0

  constructor(source: string) {
    this.source = source
    // Estimate: one token per four characters.
    const capacity = (source.length >> 2) + 16
    this.#kinds = new Uint8Array(capacity)
    this.#starts = new Uint32Array(capacity)
    this.#ends = new Uint32Array(capacity)
    this.#flags = new Uint8Array(capacity)
    this.#partners = new Int32Array(capacity)
  }

  get length(): number {
    return this.#length
  }

  push(kind: number, start: number, end: number, newlineBefore: boolean): void {
    const index = this.#length
    if (index === this.#kinds.length) this.#grow()
    this.#kinds[index] = kind
    this.#starts[index] = start
    this.#ends[index] = end
    this.#flags[index] = newlineBefore ? NEWLINE_BEFORE : 0
    this.#partners[index] = -1
    this.#length = index + 1
  }

  /** Records that two brackets match. */
  pair(opening: number, closing: number): void {
    this.#partners[opening] = closing
    this.#partners[closing] = opening
  }

  kind(index: number): number {
    return this.#kinds[this.#clamp(index)] as number
  }

  start(index: number): number {
    return this.#starts[this.#clamp(index)] as number
  }

  end(index: number): number {
    return this.#ends[this.#clamp(index)] as number
  }

  /** True if a line break or a `;` precedes the token. */
  newlineBefore(index: number): boolean {
    return this.#flags[this.#clamp(index)] === NEWLINE_BEFORE
  }

  /** Returns the index of the matching bracket; -1 for an unmatched bracket and for other tokens. */
  partner(index: number): number {
    return this.#partners[this.#clamp(index)] as number
  }

  text(index: number): string {
    return this.source.slice(this.start(index), this.end(index))
  }

  #clamp(index: number): number {
    return index < this.#length ? index : this.#length - 1
  }

  #grow(): void {
    const capacity = this.#kinds.length * 2
    this.#kinds = grown(this.#kinds, new Uint8Array(capacity))
    this.#starts = grown(this.#starts, new Uint32Array(capacity))
    this.#ends = grown(this.#ends, new Uint32Array(capacity))
    this.#flags = grown(this.#flags, new Uint8Array(capacity))
    this.#partners = grown(this.#partners, new Int32Array(capacity))
  }
}

function grown<A extends { set(from: A): void }>(from: A, to: A): A {
  to.set(from)
  return to
}
