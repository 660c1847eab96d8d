/** Milliseconds between two announcements of a topic. */
const EVERY_MS = 250

/** Announces changes of a topic at most a few times a second: records change with every request. */
export class Announcer {
  readonly #announce: () => void
  #timer: NodeJS.Timeout | null = null

  constructor(announce: () => void) {
    this.#announce = announce
  }

  note(): void {
    if (this.#timer === null) this.#start()
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #start(): void {
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#announce()
    }, EVERY_MS)
    this.#timer.unref()
  }
}
