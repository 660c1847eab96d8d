import { refuse } from './refusal.ts'

/** How long a size is used, in milliseconds: other control planes add records, too. */
const SIZE_MS = 1_000

export interface RecordLimitOptions {
  /** Name of a record in errors, such as "the record of a node". */
  readonly what: string
  /** How room is made, for errors. */
  readonly remedy: string
  /** Maximum bytes of one record. */
  readonly maxBytes: number
  /** Maximum bytes of all records above which no new ones are added. */
  readonly maxTotalBytes: number
  /** Maximum bytes of all records above which none may grow. */
  readonly maxGrownBytes: number
  /** Returns the current bytes of all records. */
  readonly total: () => Promise<number>
}

/** Keeps a list of records so small that its readers can read it. The total is read once per second while records grow. */
export class RecordLimit {
  readonly #options: RecordLimitOptions
  #total = 0
  #readAt = -Infinity

  constructor(options: RecordLimitOptions) {
    this.#options = options
  }

  /**
   * Call before a record is stored. `known`: the record that it replaces; null if there is none. Throws
   * `MSC_BODY_TOO_LARGE` for a record that is too large, and `MSC_UNAVAILABLE` if all of them would be.
   */
  async assertRoom(record: string, known: string | null): Promise<void> {
    const { what, remedy, maxBytes, maxTotalBytes, maxGrownBytes, total } = this.#options
    const bytes = Buffer.byteLength(record)
    if (bytes > maxBytes) throw refuse('MSC_BODY_TOO_LARGE', `${what} has ${bytes} bytes; the maximum is ${maxBytes}`)
    const growth = bytes - (known === null ? 0 : Buffer.byteLength(known))
    if (growth <= 0) return
    if (performance.now() - this.#readAt >= SIZE_MS) {
      this.#total = await total()
      this.#readAt = performance.now()
    }
    const max = known === null ? maxTotalBytes : maxGrownBytes
    if (this.#total + growth > max)
      throw refuse('MSC_UNAVAILABLE', `there is no room for ${what}: all have ${max} bytes; ${remedy}`)
    this.#total += growth
  }
}
