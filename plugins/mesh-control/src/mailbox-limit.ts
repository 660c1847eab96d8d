import type { Coordination } from '@svc/contracts'

/** How long a count of the messages is used, in milliseconds: other control planes add messages, too. */
const COUNT_MS = 1_000

/**
 * Keeps the mailboxes of a scope below their limit: the oldest messages are dropped. The messages are counted once per
 * second while some are added, and whenever this process may have added too many.
 */
export class MailboxLimit {
  readonly #store: () => Pick<Coordination, 'count' | 'trim'>
  readonly #prefix: string
  readonly #max: number
  /** Messages that may be added before they are counted again. */
  #room = 0
  #countedAt = -Infinity
  #trimming: Promise<void> | null = null

  constructor(store: () => Pick<Coordination, 'count' | 'trim'>, prefix: string, max: number) {
    this.#store = store
    this.#prefix = prefix
    this.#max = max
  }

  /** Call after a message was added. Resolves when the limit holds. */
  async added(): Promise<void> {
    this.#room -= 1
    while (this.#room < 0 || performance.now() - this.#countedAt >= COUNT_MS) {
      // A trim that began before the message was added may not have counted it.
      if (this.#trimming !== null) await this.#trimming
      else await (this.#trimming = this.#trim())
    }
  }

  async #trim(): Promise<void> {
    try {
      const count = await this.#store().count(this.#prefix)
      if (count > this.#max) await this.#store().trim(this.#prefix, this.#max)
      this.#room = Math.max(0, this.#max - count)
      this.#countedAt = performance.now()
    } finally {
      this.#trimming = null
    }
  }
}
