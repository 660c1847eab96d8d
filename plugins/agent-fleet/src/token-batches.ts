const BATCH_CHARACTERS = 256
const BATCH_MS = 100

/** Batches streamed text, so that a fast model does not cause an event for every token. */
export class TokenBatches {
  readonly #emit: (text: string) => void
  #text = ''
  #timer: NodeJS.Timeout | undefined

  constructor(emit: (text: string) => void) {
    this.#emit = emit
  }

  add(text: string): void {
    this.#text += text
    if (this.#text.length >= BATCH_CHARACTERS) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), BATCH_MS).unref()
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const text = this.#text
    this.#text = ''
    if (text !== '') this.#emit(text)
  }
}
