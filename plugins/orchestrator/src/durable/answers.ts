/** Fewer answers are not worth dividing. */
const MANY = 32

/**
 * Answers to callers of finished transactions, in their order. Answers are sent at the end of the event loop turn, when
 * the next transaction is running: callers work while the database works.
 *
 * Callers answered together mostly call again together. If all did, they and the database would wait for each other
 * alternately. So when few others wait, some are answered earlier, and transactions become about equally large.
 */
export class Answers<A> {
  readonly #give: (to: A) => void
  #due: readonly A[] = []
  #turn: NodeJS.Immediate | undefined

  constructor(give: (to: A) => void) {
    this.#give = give
  }

  /** `others`: callers that wait for the next transaction. True if it should start a turn later, since some will call again. */
  add(callers: readonly A[], others: number): boolean {
    // Callers answered only now are about to call again.
    const surplus = callers.length - others - this.giveAll()
    const isDivided = surplus >= MANY
    const before = isDivided ? surplus >> 1 : 0
    this.#due = callers.slice(before)
    for (const caller of callers.slice(0, before)) this.#give(caller)
    // Their transaction starts by the end of this turn, and runs at the end of the next.
    this.#turn = setImmediate(() => {
      if (isDivided) this.#turn = setImmediate(() => this.giveAll())
      else this.giveAll()
    })
    return isDivided
  }

  /** Gives the due answers now. Returns how many. */
  giveAll(): number {
    clearImmediate(this.#turn)
    const due = this.#due
    this.#due = []
    for (const caller of due) this.#give(caller)
    return due.length
  }
}
