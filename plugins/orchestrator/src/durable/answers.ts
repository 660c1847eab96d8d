/** Of fewer, the answers are not worth dividing. */
const MANY = 32

/**
 * Answers to callers of finished transactions, in their order. Answers are sent at the end of the event loop turn, when
 * the next transaction is running: callers work while the database works.
 *
 * Callers who are answered together mostly come back together. If all did, the database and they would wait for each other by
 * turns; so where few others wait, some are answered before, such that transactions take about as many each.
 */
export class Answers<A> {
  readonly #give: (to: A) => void
  #due: readonly A[] = []
  #turn: NodeJS.Immediate | undefined

  constructor(give: (to: A) => void) {
    this.#give = give
  }

  /** `others`: callers who wait for the next transaction. True where it is better begun a turn later, since some come back. */
  add(callers: readonly A[], others: number): boolean {
    // Those who are answered only now are about to come back.
    const surplus = callers.length - others - this.giveAll()
    const isDivided = surplus >= MANY
    const before = isDivided ? surplus >> 1 : 0
    this.#due = callers.slice(before)
    for (const caller of callers.slice(0, before)) this.#give(caller)
    // By the end of this turn the transaction of those begins; at the end of the next it is under way.
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
